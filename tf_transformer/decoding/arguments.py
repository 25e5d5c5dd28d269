"""Checks and shapes that the searches have in common."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.presets import MOST_HYPOTHESES

Tensor = Any
Cache = dict[str, Any]
Step = Callable[[Tensor, Cache], tuple[Tensor, Cache]]
"""`step(ids [B, K] int32, cache) -> (logits [B, K, V], cache)`: one more token for every hypothesis."""


def check_sizes(beam_size: Any, num_results: Any) -> tuple[int, Any]:
    """Both as plain integers, but for a tensor; no `num_results` means all of the beam.

    Raises:
        TypeError: If one is no whole number.
        ValueError: If one is out of range.
    """
    beam_size = whole_number("beam_size", beam_size, 1, MOST_HYPOTHESES)
    if num_results is None:
        return beam_size, beam_size
    if tf.is_tensor(num_results):  # what it holds is not known yet
        return beam_size, num_results
    return beam_size, whole_number("num_results", num_results, 1, beam_size)


def check_ids(start_id: int, end_id: int, forbidden_ids: Sequence[int]) -> None:
    """Raises ValueError or TypeError for ids with which no hypothesis could start or end."""
    for name, value in (("start_id", start_id), ("end_id", end_id)):
        whole_number(name, value, 0)
    if end_id in forbidden_ids:
        raise ValueError(
            "`forbidden_ids` must not contain `end_id`, or nothing could end. "
            f"Received: forbidden_ids={tuple(forbidden_ids)}, end_id={end_id}"
        )


def limits(max_lengths: Tensor, batch_size: int | Tensor) -> Tensor:
    """`max_lengths` as int32 [B]: one number serves every sentence."""
    max_lengths = tf.cast(max_lengths, tf.int32)
    return tf.maximum(tf.broadcast_to(max_lengths, tf.reshape(batch_size, [1])), 0)


def loop_shapes(leaves: Sequence[Tensor]) -> list[tf.TensorShape]:
    """Shape invariants of the cache's leaves: batch and, at axis -2, time change from step to step."""
    shapes = []
    for leaf in leaves:
        shape = leaf.shape.as_list()
        shape[0] = None
        if len(shape) >= 4:  # [B, K, ..., t, d]
            shape[-2] = None
        shapes.append(tf.TensorShape(shape))
    return shapes
