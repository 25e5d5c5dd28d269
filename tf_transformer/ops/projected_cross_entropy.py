"""The projection of states to the vocabulary and the cross-entropy of its logits, as one function.

Shapes: N positions, D width, V vocabulary, C chunks of R positions.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tf_transformer.ops import Tensor
from tf_transformer.ops.cross_entropy import check_arguments, log_sum_exp, pick, uniform_share


def projected_cross_entropy(
    labels: Tensor,
    states: Tensor,
    table: Tensor,
    label_smoothing: float = 0.0,
    ignore_id: int | None = 0,
    chunk: int | None = None,
) -> Tensor:
    """`smoothed_cross_entropy(labels, states @ table^T)` at less cost, in time and memory.

    Knowing both factors of the logits z = h E^T saves most passes over [N, V], which cost more than the
    products. With p the softmax, u the uniform share, k = 1 - label_smoothing and y the label:

        the sum of z over the classes is h . (sum of their rows of E);
        log sum exp z = z[y] - log p[y];
        the gradient by h is g E - u * (sum of rows), and that by E is g^T h - u * (sum of h) at each class,

    where g = p but for p[y] - k at the label: the one tensor that is kept, in the dtype of `states`. With
    `chunk` it is not kept but computed again, for so many positions at a time.

    Args:
        labels: Integer ids, `[...]`, from 0 to V - 1 or equal to `ignore_id`.
        states: Float tensor `[..., D]`; its dtype is that of the products.
        table: Float32 tensor `[V, D]`, one row a class.
        label_smoothing: Share of the target that is spread over the classes, from 0 up to 1 (excluded).
        ignore_id: Label of positions that do not count. None when all do.
        chunk: Positions whose logits are in memory at a time. None for all.

    Returns:
        The cross-entropies in nats, float32 `[...]`; 0, with a gradient of 0, where the label is `ignore_id`.

    Raises:
        TypeError: If `labels` are not integers.
        ValueError: If `label_smoothing` is out of range, or if the shapes do not fit.
    """
    labels, states = ops.convert_to_tensor(labels), ops.convert_to_tensor(states)
    check_arguments(labels, states, label_smoothing, "states")
    uniform = uniform_share(table.shape[0], label_smoothing, ignore_id)

    def values(labels: Tensor, states: Tensor, table: Tensor) -> Tensor:
        return _values(labels, states, table, 1.0 - label_smoothing, uniform, chunk)

    return of_real_rows(values, labels, states, table, ignore_id)


def of_real_rows(
    values: Callable[..., Tensor], labels: Tensor, states: Tensor, table: Tensor, ignore_id: int | None
) -> Tensor:
    """Calls a function of labels [N], states [..., D] in rows and table [V, D]; 0 where a label is ignored.

    Args:
        values: Takes the three as tensors, every label a class, and returns a value a label, [N].
        labels: Integer ids, `[...]`.
        states: Float tensor whose last axis is D.
        table: Tensor or variable `[V, D]`.
        ignore_id: Label of positions that do not count. None when all do.

    Returns:
        The values, of the shape of `labels`.
    """
    shape, (vocabulary_size, width) = ops.shape(labels), table.shape
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))  # [N]
    real = ops.ones_like(labels, "bool") if ignore_id is None else ops.not_equal(labels, ignore_id)
    result = values(
        ops.where(real, labels, 0),
        ops.reshape(states, (-1, width)),
        # Reshaped, a variable has become a tensor, which is what a custom gradient takes.
        ops.reshape(table, (vocabulary_size, width)),
    )
    return ops.reshape(ops.where(real, result, 0.0), shape)


def _values(
    labels: Tensor, states: Tensor, table: Tensor, sharp: float, uniform: Tensor, chunk: int | None
) -> Tensor:
    """The formulas above: labels [N], states [N, D], table [V, D], uniform [V]."""
    dtype = keras.backend.standardize_dtype(states.dtype)

    @ops.custom_gradient
    def values(states: Tensor, table: Tensor) -> tuple[Tensor, Any]:
        kernel, exact = ops.cast(table, dtype), ops.cast(states, "float32")
        spread = ops.matmul(ops.expand_dims(uniform, 0), ops.cast(kernel, "float32"))  # [1, D]
        if chunk is None:
            result, kept = _score(labels, states, kernel, sharp)
        else:
            result, kept = _score_in_chunks(labels, states, kernel, sharp, chunk), None
        result = result - ops.squeeze(ops.matmul(exact, ops.transpose(spread)), -1)

        def gradient(*args: Tensor, upstream: Tensor = None) -> tuple[Tensor, Tensor]:
            # PyTorch's convention of Keras is `upstream`, the other backends' one positional argument.
            upstream = ops.expand_dims(args[-1] if upstream is None else upstream, -1)  # [N, 1]
            weighted = exact * upstream
            if chunk is None:
                by_states, by_table = push_back(kept, kernel, ops.cast(weighted, dtype))
            else:
                by_states, by_table = _push_back_in_chunks(
                    labels, states, kernel, sharp, ops.cast(weighted, dtype), chunk
                )
            by_states = (by_states - spread) * upstream
            by_table = by_table - ops.expand_dims(uniform, -1) * ops.sum(weighted, axis=0)
            return ops.cast(by_states, dtype), by_table

        return result, gradient

    result: Tensor = values(states, table)
    return result


def _score(labels: Tensor, states: Tensor, kernel: Tensor, sharp: float) -> tuple[Tensor, Tensor]:
    """log sum exp z - k z[y], [N], and g, [N, V] in the dtype of the states."""

    def project() -> Tensor:
        return ops.cast(ops.matmul(states, ops.transpose(kernel)), "float32")

    logits = project()  # [N, V]
    probabilities = ops.softmax(logits, axis=-1)
    label_logits, label_probabilities = pick(logits, labels), pick(probabilities, labels)
    at_label = ops.stack([ops.arange(ops.shape(labels)[0], dtype="int32"), labels], axis=-1)  # [N, 2]
    kept = ops.scatter_update(
        ops.cast(probabilities, states.dtype), at_label, ops.cast(label_probabilities - sharp, states.dtype)
    )
    # Projected again where it is needed, which is next to never, so that the logits need not be held for it.
    return log_sum_exp(project, label_logits, label_probabilities) - sharp * label_logits, kept


def push_back(kept: Tensor, kernel: Tensor, weighted: Tensor) -> tuple[Tensor, Tensor]:
    """g E, [N, D], and g^T h, [V, D], in float32; `weighted` is h times what the loss hands back."""
    by_states = ops.cast(ops.matmul(kept, kernel), "float32")
    return by_states, ops.cast(ops.matmul(ops.transpose(kept), weighted), "float32")


def _score_in_chunks(labels: Tensor, states: Tensor, kernel: Tensor, sharp: float, chunk: int) -> Tensor:
    labels, states, count = _cut(labels, chunk), _cut(states, chunk), ops.shape(labels)[0]

    def body(index: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        result, _ = _score(ops.take(labels, index, 0), ops.take(states, index, 0), kernel, sharp)
        return _after(index, result), _put(values, index, result)

    start = ops.zeros(ops.shape(labels), "float32")
    _, values = ops.while_loop(lambda index, _: index < ops.shape(labels)[0], body, (_first(), start))
    return ops.reshape(values, (-1,))[:count]


def _push_back_in_chunks(
    labels: Tensor, states: Tensor, kernel: Tensor, sharp: float, weighted: Tensor, chunk: int
) -> tuple[Tensor, Tensor]:
    count, width = ops.shape(labels)[0], kernel.shape[-1]
    labels, states, weighted = (_cut(tensor, chunk) for tensor in (labels, states, weighted))

    def body(index: Tensor, by_states: Tensor, by_table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        result, kept = _score(ops.take(labels, index, 0), ops.take(states, index, 0), kernel, sharp)
        part, whole = push_back(kept, kernel, ops.take(weighted, index, 0))
        return _after(index, result), _put(by_states, index, part), by_table + whole

    start = (_first(), ops.zeros(ops.shape(states), "float32"), ops.zeros(kernel.shape, "float32"))
    _, by_states, by_table = ops.while_loop(lambda index, *_: index < ops.shape(labels)[0], body, start)
    return ops.reshape(by_states, (-1, width))[:count], by_table


def _cut(tensor: Tensor, chunk: int) -> Tensor:
    """[N, ...] to [C, R, ...], with zeros at the end."""
    count, rest = ops.shape(tensor)[0], tensor.shape[1:]
    num_chunks = (count + chunk - 1) // chunk
    zeros = ops.zeros((num_chunks * chunk - count, *rest), tensor.dtype)
    return ops.reshape(ops.concatenate([tensor, zeros], axis=0), (num_chunks, chunk, *rest))


def _put(chunks: Tensor, index: Tensor, part: Tensor) -> Tensor:
    return ops.scatter_update(chunks, ops.reshape(index, (1, 1)), ops.expand_dims(part, 0))


def _first() -> Tensor:
    return ops.zeros((), "int32")


def _after(index: Tensor, result: Tensor) -> Tensor:
    """The next index, made to wait for this chunk: TensorFlow would run ten at once, and fill the memory."""
    return index + 1 + 0 * ops.cast(ops.isnan(result[0]), "int32")
