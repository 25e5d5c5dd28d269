"""The training loss: smoothed cross-entropy, summed over real tokens and divided by their number."""

from typing import Any

import keras
from keras import ops

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.ops.checks import check_ids, check_same_sizes, token_weights
from tf_transformer.ops.cross_entropy import smoothed_cross_entropy

__all__ = ["MaskedCrossEntropy", "smoothed_cross_entropy"]

Tensor = Any

LARGEST_EXACT_ID = 2**24
"""Keras hands labels to a loss as float32, which holds every integer up to this one exactly."""


@keras.saving.register_keras_serializable("tf_transformer")
class MaskedCrossEntropy(keras.losses.Loss):
    """Cross-entropy with label smoothing: sum over the real tokens / number of real tokens.

    Real tokens are those whose label is not `ignore_id`. In `Model.fit` both the sum and the number run
    over the whole batch, that is over all replicas of a `tf.distribute` strategy, so one device and many
    follow the same curve. A batch without a real token has the loss 0 and the gradient 0.

    A `sample_weight` scales the loss of its tokens (that of a sentence, of all tokens of the sentence); the
    divisor stays the number of real tokens.
    For the values of single tokens call `smoothed_cross_entropy`.

    Args:
        label_smoothing: Share of the target that is spread over all classes but `ignore_id`
            (Vaswani et al., 2017, section 5.4, use 0.1). At least 0, less than 1.
        ignore_id: The label of padding.
        name: Name of the loss.

    Call arguments:
        y_true: Labels `[B, T]`, integers (or the same cast to float32, as Keras does); any shape works
            that is that of `y_pred` without the last axis.
        y_pred: Logits `[B, T, V]`, float.
        sample_weight: Optional, float `[B]` or `[B, T]`.

    Returns:
        A float32 scalar.

    Raises:
        ValueError: If `label_smoothing` is out of range, if the shapes do not fit, if a label is in no
            vocabulary (outside of a graph), or if the vocabulary is so large that labels cast to float32
            would no longer be exact.

    Example:

    >>> import numpy as np
    >>> loss = MaskedCrossEntropy()
    >>> logits = np.log([[[0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [0.1, 0.2, 0.7]]])
    >>> round(float(loss(np.array([[2, 1, 0]]), logits)), 4)  # -(log 0.7 + log 0.2) / 2
    0.9831
    """

    def __init__(
        self, label_smoothing: float = 0.0, ignore_id: int = 0, name: str = "masked_cross_entropy"
    ) -> None:
        super().__init__(name=name, reduction="sum_over_batch_size", dtype="float32")
        self.label_smoothing = finite_number("label_smoothing", label_smoothing, 0.0)
        if self.label_smoothing >= 1.0:
            raise ValueError(f"`label_smoothing` must be less than 1. Received: {label_smoothing!r}")
        self.ignore_id = whole_number("ignore_id", ignore_id)

    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor = None) -> Tensor:
        y_pred = ops.convert_to_tensor(y_pred)
        if sample_weight is not None:
            # Keras would take one weight a sentence for one a position, where there are as many of them.
            sample_weight = token_weights(sample_weight, ops.convert_to_tensor(y_true))
        # A new tensor, so that Keras does not weigh the values again by a mask that a layer left on the old.
        return super().__call__(y_true, ops.reshape(y_pred, ops.shape(y_pred)), sample_weight)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        vocabulary_size = y_pred.shape[-1]
        if vocabulary_size is not None and vocabulary_size > LARGEST_EXACT_ID:
            raise ValueError(
                f"`y_pred` must have at most {LARGEST_EXACT_ID} classes: Keras casts labels to float32. "
                f"Received: {vocabulary_size}"
            )
        check_same_sizes("`y_true` and the positions of `y_pred`", y_true.shape, y_pred.shape[:-1])
        check_ids("y_true", y_true, vocabulary_size, self.ignore_id)
        labels = ops.cast(y_true, "int32")  # [B, T]
        values = smoothed_cross_entropy(labels, y_pred, self.label_smoothing, self.ignore_id)
        return _scaled_to_token_mean(values, ops.not_equal(labels, self.ignore_id))

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "label_smoothing": self.label_smoothing,
            "ignore_id": self.ignore_id,
        }


def _scaled_to_token_mean(values: Tensor, real: Tensor) -> Tensor:
    """Values of which Keras' mean over all positions is the sum over real tokens / their number.

    Keras divides by the number of positions of one replica and by the number of replicas, sums the
    gradients, and prints the mean of the replicas' values, weighted by their sentences. So the divisor is
    the replicas' mean number of real tokens; and what is printed is made the same, whole loss on every
    replica, by a constant that has no gradient.
    """
    num_positions = ops.cast(ops.size(values), "float32")
    local = ops.stack([ops.sum(values), ops.sum(ops.cast(real, "float32"))])
    local = ops.stop_gradient(local)  # [2]: sum and number of tokens
    mean = _mean_over_replicas(local)
    global_loss = ops.divide_no_nan(mean[0], mean[1])
    local_loss = ops.divide_no_nan(local[0], mean[1])
    return values * ops.divide_no_nan(num_positions, mean[1]) + (global_loss - local_loss)


def _mean_over_replicas(values: Tensor) -> Tensor:
    # The moments of synchronised batch normalisation are Keras' one public reduction over replicas;
    # its other backends have no replicas in this sense, and refuse the argument.
    synchronized = keras.config.backend() == "tensorflow"
    mean, _ = ops.moments(ops.expand_dims(values, 0), axes=[0], synchronized=synchronized)
    return mean
