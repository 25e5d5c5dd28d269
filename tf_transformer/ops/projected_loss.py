"""A loss of the logits z = h E^T, with its gradients, for so many positions at a time.

Shapes: N positions, P passes over each of them, D width, V vocabulary; C chunks of R positions.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tf_transformer.ops import Tensor
from tf_transformer.ops.cross_entropy import check_arguments, uniform_share

Score = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, list[Tensor]]]
"""Of labels `[R]`, states `[P * R, D]` and a kernel `[V, D]` the values, float32 `[R]`, and for each pass
their gradient by its logits, `[R, V]` in the dtype of the states; both without what smoothing spreads over
the classes."""


def projected_loss(
    score: Score,
    labels: Tensor,
    states: Tensor,
    table: Tensor,
    *,
    passes: int = 1,
    scale: float = 1.0,
    label_smoothing: float = 0.0,
    ignore_id: int | None = 0,
    weights: Tensor | None = None,
    chunk: int | None = None,
) -> Tensor:
    """The sum over all positions of what `score` says of their logits.

    The logits are never there for more than a chunk: the loss is one number, so its gradients by `states`
    and `table` are found on the way forward, chunk by chunk, and only multiplied on the way back. That saves
    the memory of `[N, V]` and takes no product twice (as in "Cut Your Losses in Large-Vocabulary Language
    Models", Wijmans et al., 2024, and "Liger Kernel", Hsu et al., 2024). Smoothing asks for no pass over the
    logits: with u the uniform share, the sum of u z over the classes is h . (sum of u E), whose gradient by
    the states is that sum, and by the row of a class u h.

    Args:
        score: See `Score`; without smoothing's share.
        labels: Integer ids, `[B, ...]`, from 0 to V - 1 or equal to `ignore_id`.
        states: Float tensor `[P * B, ..., D]`, one pass after the other; its dtype is that of the products.
        table: Float32 tensor or variable `[V, D]`, one row a class.
        passes: The number P.
        scale: What the gradients of `score` are to be multiplied by.
        label_smoothing: Share of the target that is spread over the classes, from 0 up to 1 (excluded).
        ignore_id: Label of positions that do not count. None when all do.
        weights: What each position counts, of the shape of `labels`. None for 1.
        chunk: Positions whose logits are in memory at a time, at most. None for all.

    Returns:
        Float32 scalar.

    Raises:
        TypeError: If `labels` are not integers.
        ValueError: If `label_smoothing` is out of range, or if the shapes do not fit.
    """
    labels, states = ops.convert_to_tensor(labels), ops.convert_to_tensor(states)
    check_arguments(labels, states, label_smoothing, "states")
    vocabulary_size, width = table.shape
    uniform = uniform_share(vocabulary_size, label_smoothing, ignore_id)  # [V]
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))  # [N]
    counts = ops.ones(ops.shape(labels), "float32") if weights is None else ops.cast(weights, "float32")
    counts = ops.reshape(counts, (-1,))
    if ignore_id is not None:
        real = ops.not_equal(labels, ignore_id)
        labels, counts = ops.where(real, labels, 0), ops.where(real, counts, 0.0)
    dtype = keras.backend.standardize_dtype(states.dtype)

    @ops.custom_gradient
    def value(states: Tensor, table: Tensor) -> tuple[Tensor, Any]:
        kernel = ops.cast(table, dtype)
        total, by_states, by_table = _in_chunks(score, labels, counts, states, kernel, scale, chunk)
        share = 1.0 / passes
        spread = ops.matmul(ops.expand_dims(uniform, 0), ops.cast(kernel, "float32"))  # [1, D]
        exact = ops.sum(ops.cast(states, "float32"), axis=0)  # [N, D]
        weighted = ops.matmul(ops.expand_dims(counts, 0), exact) * share  # [1, D]
        total = total - ops.sum(spread * weighted)
        by_states = by_states - ops.expand_dims(counts, -1) * spread * share
        by_table = by_table - ops.expand_dims(uniform, -1) * weighted

        def gradient(*args: Tensor, upstream: Tensor = None) -> tuple[Tensor, Tensor]:
            # PyTorch's convention of Keras is `upstream`, the other backends' one positional argument.
            upstream = args[-1] if upstream is None else upstream
            return ops.cast(by_states * upstream, dtype), by_table * upstream

        return total, gradient

    result: Tensor = value(
        ops.reshape(states, (passes, -1, width)),
        # Reshaped, a variable has become a tensor, which is what a custom gradient takes.
        ops.reshape(table, (vocabulary_size, width)),
    )
    return result


def _in_chunks(
    score: Score,
    labels: Tensor,
    counts: Tensor,
    states: Tensor,
    kernel: Tensor,
    scale: float,
    chunk: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The sum, and its gradients by states `[P, N, D]` and kernel `[V, D]`, float32."""
    passes, width, count = states.shape[0], kernel.shape[-1], ops.shape(labels)[0]
    num_chunks, rows = _even_chunks(count, chunk)
    label_chunks, count_chunks = (_cut(tensor, num_chunks, rows) for tensor in (labels, counts))
    state_chunks = _cut(ops.transpose(states, (1, 0, 2)), num_chunks, rows)  # [C, R, P, D]

    def body(index: Tensor, total: Tensor, by_states: Tensor, by_table: Tensor) -> tuple[Tensor, ...]:
        own_labels, own_counts = ops.take(label_chunks, index, 0), ops.take(count_chunks, index, 0)
        own_states = ops.transpose(ops.take(state_chunks, index, 0), (1, 0, 2))  # [P, R, D]
        values, by_logits = score(own_labels, ops.reshape(own_states, (-1, width)), kernel)
        column = ops.expand_dims(own_counts * scale, -1)  # [R, 1]
        parts = []
        for number, gradient in enumerate(by_logits):
            parts.append(ops.cast(ops.matmul(gradient, kernel), "float32") * column)
            weighted = ops.cast(ops.cast(own_states[number], "float32") * column, gradient.dtype)
            product = ops.matmul(ops.transpose(gradient), weighted)
            by_table = by_table + ops.cast(product, "float32")
        chunk_total = ops.sum(ops.where(ops.equal(own_counts, 0.0), 0.0, values * own_counts))
        by_states = ops.scatter_update(
            by_states, ops.reshape(index, (1, 1)), ops.expand_dims(ops.stack(parts, axis=1), 0)
        )
        # The next index waits for this chunk: TensorFlow would run ten at once, and fill the memory.
        following = index + 1 + 0 * ops.cast(ops.isnan(chunk_total), "int32")
        return following, total + chunk_total, by_states, by_table

    start = (
        ops.zeros((), "int32"),
        ops.zeros((), "float32"),
        ops.zeros((num_chunks, rows, passes, width), "float32"),
        ops.zeros(kernel.shape, "float32"),
    )
    _, total, by_states, by_table = ops.while_loop(lambda index, *_: index < num_chunks, body, start)
    by_states = ops.reshape(by_states, (-1, passes, width))[:count]
    return total, ops.transpose(by_states, (1, 0, 2)), by_table


def _even_chunks(count: int | Tensor, chunk: int | None) -> tuple[int | Tensor, int | Tensor]:
    """The number of chunks, and the rows of each, at least 1: as equal as can be, next to none is padding."""
    largest = max if isinstance(count, int) else ops.maximum
    rows = count if chunk is None else chunk
    num_chunks = largest((count + rows - 1) // largest(rows, 1), 1)
    return num_chunks, largest((count + num_chunks - 1) // num_chunks, 1)


def _cut(tensor: Tensor, num_chunks: int | Tensor, rows: int | Tensor) -> Tensor:
    """`[N, ...]` to `[C, R, ...]`, with zeros at the end."""
    count, rest = ops.shape(tensor)[0], tensor.shape[1:]
    zeros = ops.zeros((num_chunks * rows - count, *rest), tensor.dtype)
    return ops.reshape(ops.concatenate([tensor, zeros], axis=0), (num_chunks, rows, *rest))
