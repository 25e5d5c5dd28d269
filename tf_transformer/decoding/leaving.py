"""Sentences whose search is over leave the batch: nothing is computed for them any more.

They leave in groups, so that batches have few sizes: copies are rare then, and oneDNN, TensorFlow's library
on x86, makes a kernel for each shape that it has not seen lately, which takes longer than to run it.

Shapes: B sentences of a search, b of them that are still in its batch.
"""

from typing import Any

import tensorflow as tf

Tensor = Any

_GROUP, _SMALL_GROUP = 8, 2


def leave(active: Tensor, sentences: dict[str, Any], found: Any, kept: Any) -> tuple[Tensor, Any, Any, Any]:
    """Lets those go that are over, as many as leave a batch of a usual size.

    Args:
        active: bool `[b]`, whose search goes on.
        sentences: Tensors `[b, ...]` in a nest, what sentences have of their own; `rows` int32 among them is
            their places in the whole search.
        found: Tensors `[b, ...]` in a nest, what was found so far.
        kept: The same of all, `[B, ...]`, right for those that left.

    Returns:
        The places in the batch of those that stay, int32; and the three nests afterwards.
    """
    size = tf.size(active)
    usual = _usual_size(tf.math.count_nonzero(active, dtype=tf.int32))

    def going() -> tuple[Tensor, Any, Any, Any]:
        # Those that go on, in order, and as many others as the size asks for.
        _, first = tf.math.top_k(tf.cast(active, tf.int32), usual)
        stay = tf.sort(first)
        rest = tf.nest.map_structure(lambda part: tf.gather(part, stay), (sentences, found))
        return stay, *rest, keep(kept, sentences["rows"], found)

    def all_stay() -> tuple[Tensor, Any, Any, Any]:
        return tf.range(size), sentences, found, kept

    result: tuple[Tensor, Any, Any, Any] = tf.cond(usual < size, going, all_stay)
    return result


def _usual_size(number: Tensor) -> Tensor:
    """The next multiple of 8 from 8 on, of 2 from 2 on; 0 and 1 themselves."""
    group = tf.where(number > _GROUP, _GROUP, tf.where(number > _SMALL_GROUP, _SMALL_GROUP, 1))
    return -(-number // group) * group


def keep(kept: Any, rows: Tensor, found: Any) -> Any:
    """What was found of some sentences, put to their places among all.

    Args:
        kept: Tensors `[B, ...]` in a nest.
        rows: int32 `[b]`.
        found: Tensors `[b, ...]`, likewise.
    """

    size = tf.shape(tf.nest.flatten(kept)[0])[0]
    news = size + tf.range(tf.size(rows))
    origins = tf.tensor_scatter_nd_update(tf.range(size), rows[:, tf.newaxis], news)
    return tf.nest.map_structure(
        lambda old, new: tf.gather(tf.concat([old, new], axis=0), origins), kept, found
    )


def any_size(nest: Any) -> Any:
    """Shape invariants of a nest of tensors whose first axis changes in a loop."""
    return tf.nest.map_structure(lambda part: tf.TensorShape([None, *part.shape[1:]]), nest)
