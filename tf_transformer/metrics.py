"""What one watches during training: accuracy and perplexity over real tokens, never smoothed."""

from abc import abstractmethod
from typing import Any

import keras
from keras import ops

from tf_transformer.arguments import whole_number
from tf_transformer.ops.checks import check_ids, check_same_sizes, token_weights
from tf_transformer.ops.cross_entropy import smoothed_cross_entropy

Tensor = Any


class _TokenMean(keras.metrics.Metric):
    """Mean of a value over all real tokens seen, so that a batch weighs as much as it has tokens."""

    def __init__(self, ignore_id: int, name: str) -> None:
        super().__init__(name=name, dtype="float32")
        self.ignore_id = whole_number("ignore_id", ignore_id)
        self.total = self.add_variable(shape=(), initializer="zeros", name="total")
        self.count = self.add_variable(shape=(), initializer="zeros", name="count")

    @abstractmethod
    def token_values(self, labels: Tensor, logits: Tensor) -> Tensor:
        """The value of each token: int32 [B, T], float32 [B, T, V] -> float32 [B, T]."""

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor = None) -> None:
        y_true, y_pred = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
        check_same_sizes("`y_true` and the positions of `y_pred`", y_true.shape, y_pred.shape[:-1])
        check_ids("y_true", y_true, y_pred.shape[-1], self.ignore_id)
        labels = ops.cast(y_true, "int32")
        values = self.token_values(labels, y_pred)
        weights = ops.cast(ops.not_equal(labels, self.ignore_id), "float32")
        if sample_weight is not None:
            weights = weights * token_weights(sample_weight, labels)
        self.total.assign_add(ops.sum(values * weights))
        self.count.assign_add(ops.sum(weights))

    def result(self) -> Tensor:
        return ops.divide_no_nan(self.total, self.count)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "ignore_id": self.ignore_id}


@keras.saving.register_keras_serializable("tf_transformer")
class MaskedAccuracy(_TokenMean):
    """Share of real tokens whose label has the largest logit; 0 before any token was seen.

    Args:
        ignore_id: The label of padding, which does not count.
        name: Name of the metric.

    Call arguments:
        y_true: Labels `[B, T]`, integers.
        y_pred: Logits `[B, T, V]`, float.
        sample_weight: Optional weights `[B]` or `[B, T]`.

    Returns:
        A float32 scalar from 0 to 1.

    Example:

    >>> import numpy as np
    >>> metric = MaskedAccuracy()
    >>> logits = np.log([[[0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [0.1, 0.2, 0.7]]])
    >>> float(metric(np.array([[2, 1, 0]]), logits))
    0.5
    """

    def __init__(self, ignore_id: int = 0, name: str = "masked_accuracy") -> None:
        super().__init__(ignore_id, name)

    def token_values(self, labels: Tensor, logits: Tensor) -> Tensor:
        return ops.cast(ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), labels), "float32")


@keras.saving.register_keras_serializable("tf_transformer")
class Perplexity(_TokenMean):
    """exp(mean cross-entropy of the real tokens), without label smoothing; 1 before any token was seen.

    Args:
        ignore_id: The label of padding, which does not count.
        name: Name of the metric.

    Call arguments:
        y_true: Labels `[B, T]`, integers.
        y_pred: Logits `[B, T, V]`, float.
        sample_weight: Optional weights `[B]` or `[B, T]`.

    Returns:
        A float32 scalar, at least 1.

    Example:

    >>> import numpy as np
    >>> metric = Perplexity()
    >>> logits = np.log([[[0.1, 0.4, 0.5], [0.1, 0.1, 0.8], [0.1, 0.2, 0.7]]])
    >>> round(float(metric(np.array([[1, 1, 0]]), logits)), 4)  # 1 / sqrt(0.4 * 0.1)
    5.0
    """

    def __init__(self, ignore_id: int = 0, name: str = "perplexity") -> None:
        super().__init__(ignore_id, name)

    def token_values(self, labels: Tensor, logits: Tensor) -> Tensor:
        return smoothed_cross_entropy(labels, logits, 0.0, self.ignore_id)

    def result(self) -> Tensor:
        return ops.exp(super().result())
