"""Cross-entropy of integer labels, smoothed without ever writing out the target distribution.

Shapes: N positions, V vocabulary.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any

_SURELY_EXACT = 1e-30
"""Far above where a float32 probability underflows, and its logarithm with it."""


def smoothed_cross_entropy(
    labels: Tensor, logits: Tensor, label_smoothing: float = 0.0, ignore_id: int | None = 0
) -> Tensor:
    """Cross-entropy of every position against its label, in nats.

    The target distribution of a label y is `(1 - label_smoothing)` on y plus
    `label_smoothing / (number of classes)` on each class, where the class `ignore_id` (padding) is no
    class and gets nothing (Szegedy et al., 2016, section 7; Vaswani et al., 2017, section 5.4).
    With z the logits, u that last share and lse = log sum exp(z), it equals

        lse - (1 - label_smoothing) * z[y] - u * sum of z over the classes,

    so no one-hot row is needed: with its gradient the function holds about three tensors of the size
    of `logits`, the logits included.

    Args:
        labels: Integer ids, `[...]`, from 0 to V - 1 or equal to `ignore_id`.
        logits: Unnormalised log-probabilities, `[..., V]`; computed with in float32.
        label_smoothing: Share of the target that is spread over the classes, from 0 up to 1 (excluded).
        ignore_id: Label of positions that do not count. None when all do.

    Returns:
        The cross-entropies, float32 `[...]`; 0, with a gradient of 0, where the label is `ignore_id`.

    Raises:
        TypeError: If `labels` are not integers.
        ValueError: If `label_smoothing` is out of range, or if the shapes do not fit.

    Example:

    >>> import numpy as np
    >>> logits = np.log([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]])
    >>> values = smoothed_cross_entropy(np.array([1, 0]), logits)
    >>> [round(float(value), 4) for value in values]  # -log 0.2, and a position that does not count
    [1.6094, 0.0]
    """
    labels = ops.convert_to_tensor(labels)
    logits = ops.cast(logits, "float32")
    _check(labels, logits, label_smoothing)
    vocabulary_size = logits.shape[-1]
    shape = ops.shape(labels)
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))  # [N]
    real = ops.ones_like(labels, "bool") if ignore_id is None else ops.not_equal(labels, ignore_id)
    values = _token_values(
        ops.where(real, labels, 0),  # an `ignore_id` such as -100 is no valid index
        ops.reshape(logits, (-1, vocabulary_size)),
        label_smoothing,
        _uniform_share(vocabulary_size, label_smoothing, ignore_id),
    )
    return ops.reshape(ops.where(real, values, 0.0), shape)


def projected_cross_entropy(
    labels: Tensor, states: Tensor, table: Tensor, label_smoothing: float = 0.0, ignore_id: int | None = 0
) -> Tensor:
    """`smoothed_cross_entropy(labels, states @ table^T)`, its projection to the vocabulary included.

    Knowing both factors of the logits z = h E^T saves most passes over [N, V], which cost more than the
    products. With p the softmax, u the uniform share, k = 1 - label_smoothing and y the label:

        the sum of z over the classes is h . (sum of their rows of E);
        lse = z[y] - log p[y];
        the gradient by h is g E - u * (sum of rows), and that by E is g^T h - u * (sum of h) at each class,

    where g = p but for p[y] - k at the label, the one tensor that is kept, in the dtype of `states`.

    Args:
        labels: Integer ids, `[...]`, from 0 to V - 1 or equal to `ignore_id`.
        states: Float tensor `[..., D]`; its dtype is that of the products.
        table: Float32 tensor `[V, D]`, one row a class.
        label_smoothing: Share of the target that is spread over the classes, from 0 up to 1 (excluded).
        ignore_id: Label of positions that do not count. None when all do.

    Returns:
        The cross-entropies in nats, float32 `[...]`; 0, with a gradient of 0, where the label is `ignore_id`.

    Raises:
        TypeError: If `labels` are not integers.
        ValueError: If `label_smoothing` is out of range, or if the shapes do not fit.
    """
    labels, states = ops.convert_to_tensor(labels), ops.convert_to_tensor(states)
    _check(labels, states, label_smoothing, "states")
    shape, (vocabulary_size, width) = ops.shape(labels), table.shape
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))  # [N]
    real = ops.ones_like(labels, "bool") if ignore_id is None else ops.not_equal(labels, ignore_id)
    values = _projected_values(
        ops.where(real, labels, 0),
        ops.reshape(states, (-1, width)),
        # Reshaped, a variable has become a tensor, which is what a custom gradient takes.
        ops.reshape(table, (vocabulary_size, width)),
        label_smoothing,
        _uniform_share(vocabulary_size, label_smoothing, ignore_id),
    )
    return ops.reshape(ops.where(real, values, 0.0), shape)


def _projected_values(
    labels: Tensor, states: Tensor, table: Tensor, label_smoothing: float, uniform: Tensor
) -> Tensor:
    """The formulas above: labels [N], states [N, D], table [V, D], uniform [V]."""
    dtype = keras.backend.standardize_dtype(states.dtype)
    at_label = ops.stack([ops.arange(ops.shape(labels)[0], dtype="int32"), labels], axis=-1)  # [N, 2]
    sharp = 1.0 - label_smoothing

    @ops.custom_gradient
    def values(states: Tensor, table: Tensor) -> tuple[Tensor, Any]:
        kernel = ops.cast(table, dtype)
        logits = ops.cast(ops.matmul(states, ops.transpose(kernel)), "float32")  # [N, V]
        probabilities = ops.softmax(logits, axis=-1)
        label_logits, label_probabilities = _pick(logits, labels), _pick(probabilities, labels)
        spread = ops.matmul(ops.expand_dims(uniform, 0), ops.cast(kernel, "float32"))  # [1, D]
        exact = ops.cast(states, "float32")
        result = _log_sum_exp(logits, label_logits, label_probabilities) - sharp * label_logits
        if label_smoothing:
            result = result - ops.squeeze(ops.matmul(exact, ops.transpose(spread)), -1)
        kept = ops.scatter_update(
            ops.cast(probabilities, dtype), at_label, ops.cast(label_probabilities - sharp, dtype)
        )

        def gradient(*args: Tensor, upstream: Tensor = None) -> tuple[Tensor, Tensor]:
            # PyTorch's convention of Keras is `upstream`, the other backends' one positional argument.
            upstream = ops.expand_dims(args[-1] if upstream is None else upstream, -1)  # [N, 1]
            weighted = exact * upstream
            by_states = ops.cast(ops.matmul(kept, kernel), "float32")  # [N, D]
            by_table = ops.cast(ops.matmul(ops.transpose(kept), ops.cast(weighted, dtype)), "float32")
            if label_smoothing:
                by_states = by_states - spread
                by_table = by_table - ops.expand_dims(uniform, -1) * ops.sum(weighted, axis=0)
            return ops.cast(by_states * upstream, dtype), by_table

        return result, gradient

    result: Tensor = values(states, table)
    return result


def _log_sum_exp(logits: Tensor, label_logits: Tensor, label_probabilities: Tensor) -> Tensor:
    # z - log p is the same for every class, so it need not cost a pass over [N, V], unless p underflows.
    return ops.cond(
        ops.min(label_probabilities) > _SURELY_EXACT,
        lambda: label_logits - ops.log(label_probabilities),
        lambda: ops.logsumexp(logits, axis=-1),
    )


def _token_values(labels: Tensor, logits: Tensor, label_smoothing: float, uniform: Any) -> Tensor:
    """The formula above and its gradient, softmax - target: labels [N], logits [N, V], uniform [V]."""
    rows = ops.arange(ops.shape(labels)[0], dtype="int32")
    at_label = ops.stack([rows, labels], axis=-1)  # [N, 2]
    sharp = 1.0 - label_smoothing

    @ops.custom_gradient
    def values(logits: Tensor) -> tuple[Tensor, Any]:
        probabilities = ops.softmax(logits, axis=-1)  # [N, V]
        label_logits, label_probabilities = _pick(logits, labels), _pick(probabilities, labels)
        result = _log_sum_exp(logits, label_logits, label_probabilities) - sharp * label_logits
        if label_smoothing:
            result = result - _uniform_sum(logits, uniform)
        at_label_target = ops.take(uniform, labels) + sharp
        at_label_gradient = label_probabilities - at_label_target  # [N]

        def gradient(*args: Tensor, upstream: Tensor = None) -> Tensor:
            # PyTorch's convention of Keras is `upstream`, the other backends' one positional argument.
            upstream = args[-1] if upstream is None else upstream  # [N]
            spread = probabilities - uniform if label_smoothing else probabilities
            return ops.scatter_update(
                spread * ops.expand_dims(upstream, -1), at_label, at_label_gradient * upstream
            )

        return result, gradient

    result: Tensor = values(logits)
    return result


def _uniform_share(vocabulary_size: int, label_smoothing: float, ignore_id: int | None) -> Tensor:
    """What smoothing puts on each class: float32 [V], 0 at the class that is padding."""
    is_class = np.ones((vocabulary_size,), "float32")
    if ignore_id is not None and 0 <= ignore_id < vocabulary_size:
        is_class[ignore_id] = 0.0
    return ops.convert_to_tensor(is_class * np.float32(label_smoothing / max(is_class.sum(), 1.0)))


def _uniform_sum(logits: Tensor, uniform: Tensor) -> Tensor:
    # A matrix-vector product reads the logits once and leaves no temporary of their size.
    return ops.squeeze(ops.matmul(logits, ops.expand_dims(uniform, -1)), -1)  # [N]


def _pick(values: Tensor, labels: Tensor) -> Tensor:
    """The entry of each row at its label: [N, V], [N] -> [N]."""
    picked = ops.take_along_axis(values, ops.expand_dims(labels, -1), axis=-1)
    return ops.squeeze(picked, -1)


def _check(labels: Tensor, scores: Tensor, label_smoothing: float, name: str = "logits") -> None:
    if not 0.0 <= label_smoothing < 1.0:
        raise ValueError(
            f"`label_smoothing` must be at least 0 and less than 1. Received: {label_smoothing!r}"
        )
    dtype = keras.backend.standardize_dtype(labels.dtype)
    if "int" not in dtype:
        raise TypeError(f"`labels` must be integer ids. Received: dtype {dtype}")
    if len(scores.shape) != len(labels.shape) + 1:
        raise ValueError(
            f"`{name}` must have one axis more than `labels`. "
            f"Received: labels of shape {tuple(labels.shape)}, {name} of shape {tuple(scores.shape)}"
        )
    if scores.shape[-1] is None:
        raise ValueError(
            f"The last axis of `{name}` must have a known size. Received: shape {tuple(scores.shape)}"
        )
