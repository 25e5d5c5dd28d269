"""Whole models, made of `tf_transformer.layers`."""

# The file of a compiled model names its loss, metrics and schedule: who knows the model must know them too.
from tf_transformer import losses as _losses  # noqa: F401
from tf_transformer import metrics as _metrics  # noqa: F401
from tf_transformer import schedules as _schedules  # noqa: F401
from tf_transformer.models.classifier import Classifier
from tf_transformer.models.language_model import LanguageModel
from tf_transformer.models.layouts import layout_map
from tf_transformer.models.transformer import Transformer

__all__ = ["Classifier", "LanguageModel", "Transformer", "layout_map"]
