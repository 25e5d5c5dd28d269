"""Weights in fewer bytes: rounded to float16 or int8, and made float32 again inside the graph.

A matrix in int8 has a scale of its own for each output channel: for each column of a kernel, and for each row
of a table of embeddings, which is what a logit is made with. Vectors (biases, norms) stay as they are.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.presets import WeightKind
from tf_transformer.tasks.task import ModelWeights, Task

Array = np.ndarray[Any, Any]

_GREATEST = 127
TOLERANCES: dict[str, float] = {"float16": 0.01, "int8": 0.1}
"""How far rounding may move, in the mean, the numbers that answers hang on: see `Task.probe`."""
PROBED = "log-probabilities a piece, or probabilities of labels"
"""What `Task.probe` gives, in words."""


class StoredWeight(tf.Module):
    """One weight as a SavedModel holds it.

    Args:
        name: Of the weight, its path.
        array: The weight.
        kind: How it is stored.
    """

    def __init__(self, name: str, array: Array, kind: WeightKind) -> None:
        super().__init__(name=name.replace("/", "_"))
        self.dtype = tf.as_dtype(array.dtype)
        self.scale = None
        if array.ndim < 2 or not self.dtype.is_floating or kind == "float32":
            self.value = tf.Variable(array, trainable=False)
        elif kind == "float16":
            self.value = tf.Variable(array.astype(np.float16), trainable=False)
        else:
            rows, scale = rounded(array, 0 if name.endswith("table") else array.ndim - 1)
            self.value = tf.Variable(rows, trainable=False)
            self.scale = tf.Variable(scale, trainable=False)

    def restored(self) -> tf.Tensor:
        """The weight in its own type, inside any graph."""
        value = tf.cast(self.value, self.dtype)
        return value if self.scale is None else value * self.scale


def rounded(array: Array, axis: int) -> tuple[Array, Array]:
    """A matrix in int8, and what to multiply it by.

    Args:
        array: Float32, of two axes or more.
        axis: That of its output channels; each has a scale.

    Returns:
        int8, from -127 to 127, and float32 of a shape that broadcasts: their product is within half a scale
        of the matrix.
    """
    others = tuple(number for number in range(array.ndim) if number != axis)
    greatest = np.max(np.abs(array), axis=others, keepdims=True)
    scale = np.where(greatest > 0, greatest / _GREATEST, 1.0).astype(np.float32)
    return np.clip(np.rint(array / scale), -_GREATEST, _GREATEST).astype(np.int8), scale


class StoredWeights(ModelWeights):
    """All weights of a model as a SavedModel holds them.

    Args:
        model: A Keras model in float32.
        kind: How matrices are stored.
    """

    def __init__(self, model: Any, kind: WeightKind) -> None:
        super().__init__(model)
        self.stored = [StoredWeight(one.path, one.numpy(), kind) for one in self.variables]

    @property
    def held(self) -> Sequence[StoredWeight]:
        """Not the model's own weights, which would be written, too."""
        return self.stored

    def reading(self) -> AbstractContextManager[Any]:
        """Whoever runs the model reads the stored weights, made float32 once for each call of the graph."""
        scope: AbstractContextManager[Any] = keras.StatelessScope(state_mapping=self._restored())
        return scope

    def round_model(self) -> None:
        """Gives the model the weights as they are stored."""
        for variable, weight in self._restored():
            variable.assign(weight)

    def _restored(self) -> list[tuple[Any, tf.Tensor]]:
        restored = (weight.restored() for weight in self.stored)
        return list(zip(self.variables, restored, strict=True))


def closeness(
    task: Task, samples: Sequence[Any], change: Callable[[], None], weights: WeightKind
) -> dict[str, Any]:
    """Changes a model, and says how far that moves what its answers hang on.

    Args:
        task: The task.
        samples: Examples to look at.
        change: Rounds the model's weights.
        weights: To what.

    Returns:
        For the manifest: the mean and the greatest distance, the tolerance of the mean.

    Raises:
        ExportError: When the mean is over the tolerance.
    """
    look = task.probe(samples)
    before = look()
    change()
    moved = np.abs(look() - before)
    mean, greatest = (float(moved.mean()), float(moved.max())) if moved.size else (0.0, 0.0)
    tolerance = TOLERANCES[weights]
    demand_tolerable(mean, tolerance, weights)
    return {"rounding": {"mean": mean, "greatest": greatest, "tolerance": tolerance, "of": PROBED}}


def demand_tolerable(mean: float, tolerance: float, weights: WeightKind, of: str = "") -> None:
    """Refuses weights that move a model too far.

    Args:
        mean: How far, in the mean.
        tolerance: How far they may.
        weights: How they are stored.
        of: What was moved, for the message, with a space behind it.

    Raises:
        ExportError: Then.
    """
    if not mean <= tolerance:  # NaN, too
        raise ExportError(
            f"--weights {weights} changes the model too much, so it was not kept: {of}by {mean:.4f} in the "
            f"mean, and at most {tolerance} is allowed"
        )
