"""Strings to ids and back, inside the graph."""

from tf_transformer.text.classification_preprocessor import ClassificationPreprocessor
from tf_transformer.text.labels import Labels
from tf_transformer.text.language_preprocessor import LanguagePreprocessor
from tf_transformer.text.normalizer import Normalizer
from tf_transformer.text.preprocessor import Preprocessor
from tf_transformer.text.source_form import SourceForm
from tf_transformer.text.special_tokens import MarkingNormalizer
from tf_transformer.text.tokenizers import Tokenizer, import_tokenizer, load_tokenizer, train_tokenizer

__all__ = [
    "ClassificationPreprocessor",
    "Labels",
    "LanguagePreprocessor",
    "MarkingNormalizer",
    "Normalizer",
    "Preprocessor",
    "SourceForm",
    "Tokenizer",
    "import_tokenizer",
    "load_tokenizer",
    "train_tokenizer",
]
