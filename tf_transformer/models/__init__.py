"""Whole models, made of `tf_transformer.layers`."""

from tf_transformer.models.transformer import Transformer

__all__ = ["Transformer"]
