"""Checks and shapes that the searches have in common."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

Tensor = Any
Cache = dict[str, Any]
Step = Callable[[Tensor, Cache], tuple[Tensor, Cache]]
"""`step(ids [B, K] int32, cache) -> (logits [B, K, V], cache)`: one more token for every hypothesis."""


def check_ids(start_id: int, end_id: int, forbidden_ids: Sequence[int]) -> None:
    """Raises ValueError for ids with which no hypothesis could start or end."""
    for name, value in (("start_id", start_id), ("end_id", end_id)):
        if value < 0:
            raise ValueError(f"`{name}` must be an id of the vocabulary. Received: {value!r}")
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
