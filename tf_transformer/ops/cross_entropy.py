"""Cross-entropy of integer labels, smoothed without ever writing out the target distribution.

Shapes: N positions, V vocabulary.
"""

from collections.abc import Callable
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
    check_arguments(labels, logits, label_smoothing)
    vocabulary_size = logits.shape[-1]
    shape = ops.shape(labels)
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))  # [N]
    real = ops.ones_like(labels, "bool") if ignore_id is None else ops.not_equal(labels, ignore_id)
    values = _token_values(
        ops.where(real, labels, 0),  # an `ignore_id` such as -100 is no valid index
        ops.reshape(logits, (-1, vocabulary_size)),
        label_smoothing,
        uniform_share(vocabulary_size, label_smoothing, ignore_id),
    )
    return ops.reshape(ops.where(real, values, 0.0), shape)


def _token_values(labels: Tensor, logits: Tensor, label_smoothing: float, uniform: Any) -> Tensor:
    """The formula above and its gradient, softmax - target: labels [N], logits [N, V], uniform [V]."""
    rows = ops.arange(ops.shape(labels)[0], dtype="int32")
    at_label = ops.stack([rows, labels], axis=-1)  # [N, 2]
    sharp = 1.0 - label_smoothing

    @ops.custom_gradient
    def values(logits: Tensor) -> tuple[Tensor, Any]:
        probabilities = ops.softmax(logits, axis=-1)  # [N, V]
        label_logits, label_probabilities = pick(logits, labels), pick(probabilities, labels)
        result = log_sum_exp(lambda: logits, label_logits, label_probabilities) - sharp * label_logits
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


def uniform_share(vocabulary_size: int, label_smoothing: float, ignore_id: int | None) -> Tensor:
    """What smoothing puts on each class: float32 [V], 0 at the class that is padding."""
    is_class = np.ones((vocabulary_size,), "float32")
    if ignore_id is not None and 0 <= ignore_id < vocabulary_size:
        is_class[ignore_id] = 0.0
    return ops.convert_to_tensor(is_class * np.float32(label_smoothing / max(is_class.sum(), 1.0)))


def _uniform_sum(logits: Tensor, uniform: Tensor) -> Tensor:
    # A matrix-vector product reads the logits once and leaves no temporary of their size.
    return ops.squeeze(ops.matmul(logits, ops.expand_dims(uniform, -1)), -1)  # [N]


def log_sum_exp(logits: Callable[[], Tensor], label_logits: Tensor, label_probabilities: Tensor) -> Tensor:
    """log sum exp of each row of logits [N, V], from what the softmax gave its label: [N]."""
    # z - log p is the same for every class, so it need not cost a pass over [N, V], unless p underflows.
    return ops.cond(
        ops.min(label_probabilities) > _SURELY_EXACT,
        lambda: label_logits - ops.log(label_probabilities),
        lambda: ops.logsumexp(logits(), axis=-1),
    )


def pick(values: Tensor, labels: Tensor) -> Tensor:
    """The entry of each row at its label: [N, V], [N] -> [N]."""
    picked = ops.take_along_axis(values, ops.expand_dims(labels, -1), axis=-1)
    return ops.squeeze(picked, -1)


def check_arguments(labels: Tensor, scores: Tensor, label_smoothing: float, name: str = "logits") -> None:
    """Refuses labels, scores and a share of smoothing that do not fit."""
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
