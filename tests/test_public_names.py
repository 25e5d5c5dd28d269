"""The public list of the package, looked up lazily."""

import pytest

import tf_transformer

NAMES = [
    "DataError",
    "ExportError",
    "ProjectError",
    "RecipeError",
    "RunError",
    "ServingError",
    "TextError",
    "__version__",
    "layers",
    "load",
    "losses",
    "metrics",
    "models",
    "schedules",
    "tasks",
    "text",
]
IMPORTS = {
    "layers": (
        "TokenEmbedding PositionalEncoding MultiHeadAttention FeedForward Residual EncoderBlock DecoderBlock "
        "Encoder Decoder Pooling AttentionPooling ConvolutionalStem TextEmbedding"
    ),
    "models": "Transformer Classifier LanguageModel layout_map",
    "schedules": "WarmupInverseSqrt",
    "losses": "MaskedCrossEntropy",
    "metrics": "MaskedAccuracy Perplexity",
    "text": "Preprocessor ClassificationPreprocessor Labels MarkingNormalizer",
    "tasks": "Translator",
}


def test_the_list_is_this_one_and_sorted() -> None:
    assert tf_transformer.__all__ == NAMES == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_and_in_dir(name: str) -> None:
    assert getattr(tf_transformer, name) is not None
    assert name in dir(tf_transformer)


@pytest.mark.parametrize(("module", "names"), IMPORTS.items(), ids=list(IMPORTS))
def test_the_documented_imports_work(module: str, names: str) -> None:
    home = getattr(tf_transformer, module)
    assert all(callable(getattr(home, name)) for name in names.split())


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="module 'tf_transformer' has no attribute 'transformer'"):
        _ = tf_transformer.transformer
