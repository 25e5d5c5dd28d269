"""An average of a model's weights over the last updates of its training, which answers better than the last.

The average of update t is, with w(t) the weights after it and d the decay,

    average(t) = d(t) * average(t - 1) + (1 - d(t)) * w(t),   d(t) = min(d, (1 + t) / (10 + t)).

So it looks back over about 1 / (1 - d) updates, and at the start over a ninth of the updates so far: the
initial weights are soon forgotten. (Polyak and Juditsky, 1992, average so; the rule for d(t) is that of
TensorFlow's `ExponentialMovingAverage`.)
"""

from typing import Any

import keras
import tensorflow as tf


class MovingAverage:
    """The averages of the weights of a model, in variables of their own.

    Args:
        model: A built model; weights that are not trained are not averaged.
        decay: The decay d, at least 0 and less than 1.

    Attributes:
        weights: One variable for each of `model.weights`, in that order: its average, or where it is not
            trained the model's own.
    """

    def __init__(self, model: Any, decay: float) -> None:
        if not 0.0 <= decay < 1.0:
            raise ValueError(f"`decay` must be at least 0 and less than 1. Received: {decay!r}")
        self.decay = decay
        self._trained = list(model.trainable_variables)
        self._averages = [
            keras.Variable(weight.numpy(), dtype=weight.dtype, trainable=False, name="average")
            for weight in self._trained
        ]
        mine = {id(weight): average for weight, average in zip(self._trained, self._averages, strict=True)}
        self._paths = [weight.path for weight in model.weights]
        self.weights = [mine.get(id(weight), weight) for weight in model.weights]

    def update(self, step: tf.Tensor, taken: tf.Tensor) -> None:
        """Takes the weights of one update in.

        Args:
            step: The number t of the update, from 1; an integer scalar.
            taken: Whether there was an update; an integer scalar, 0 leaves every average as it is.
        """
        t = tf.cast(step, tf.float32)
        share = 1.0 - tf.minimum(self.decay, (1.0 + t) / (10.0 + t))
        share = tf.where(taken > 0, share, 0.0)
        for average, weight in zip(self._averages, self._trained, strict=True):
            average.value.assign_add((weight.value - average.value) * share)

    def by_path(self) -> dict[str, Any]:
        """NumPy arrays by the paths of the model's weights."""
        return {path: weight.numpy() for path, weight in zip(self._paths, self.weights, strict=True)}

    def restore(self, arrays: Any) -> None:
        """Takes over what `by_path` gave."""
        for path, weight in zip(self._paths, self.weights, strict=True):
            weight.assign(arrays[path])
