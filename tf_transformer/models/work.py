"""How many products of a number with a weight an update makes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tf_transformer.models.classifier import Classifier
from tf_transformer.models.language_model import LanguageModel
from tf_transformer.models.transformer import Transformer

FORWARD_AND_BACKWARD = 3
"""A gradient takes a product more for the weight and one for what came in."""


def update_products(model: Any, counts: Mapping[str, float]) -> float | None:
    """The multiplications with weights of an update, forward and backward, for what is real in it.

    Those of encoders, decoders and output layers are counted, which are nearly all; not attention's own, of
    positions with positions, nor those of stems, nor any for padding. Twice as many are the operations.

    Args:
        model: A model of this package.
        counts: What its ``counts`` found.

    Returns:
        Their number, or None for another model.
    """
    forward = next((one for kind, one in _FORWARD.items() if isinstance(model, kind)), None)
    return None if forward is None else FORWARD_AND_BACKWARD * forward(model, counts)


def _transformer(model: Transformer, counts: Mapping[str, float]) -> float:
    source, target = counts.get("source_tokens", 0.0), counts["target_tokens"]
    of_memory = ("cross_attention/attention/key_kernel", "cross_attention/attention/value_kernel")
    memory = _kernels(model.decoder, of_memory)
    decoder = _kernels(model.decoder) - memory
    return source * (_kernels(model.encoder) + memory) + target * (
        decoder + _size(model.output_embedding.table)
    )


def _language_model(model: LanguageModel, counts: Mapping[str, float]) -> float:
    return counts["target_tokens"] * (_kernels(model.stack) + _size(model.output_embedding.table))


def _classifier(model: Classifier, counts: Mapping[str, float]) -> float:
    examples = counts["examples"]
    found = next((counts[name] for name in ("source_tokens", "source_vectors") if name in counts), None)
    if found is None:  # pictures: each has all of its patches
        found = examples * model.embedding.compute_output_shape((None, *model.inputs_shape))[1]
    return found * _kernels(model.encoder) + examples * _size(model.head.kernel)


_FORWARD: dict[type, Callable[[Any, Mapping[str, float]], float]] = {
    Transformer: _transformer,
    LanguageModel: _language_model,
    Classifier: _classifier,
}


def _kernels(stack: Any, ends: tuple[str, ...] = ("_kernel",)) -> int:
    """Numbers in the matrices that a vector goes through in a stack, of those whose path has such an end."""
    found = sum(_size(weight) for weight in stack.trainable_weights if weight.path.endswith(ends))
    return found * (stack.num_layers if stack.share_layers else 1)


def _size(weight: Any) -> int:
    return int(np.prod(weight.shape))
