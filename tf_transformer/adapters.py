"""Low-rank adapters: a matrix is trained through two thin ones, and stays one matrix for all who use it.

With W0 what a weight was at the beginning, and A and B of rank r (LoRA: Hu et al., 2021),

    W = W0 + alpha / r * A B,   dL/dA = alpha / r * dL/dW B^T,   dL/dB = alpha / r * A^T dL/dW.

The model has W itself: no layer knows of adapters, checkpoints hold plain weights, and whatever answers,
averages or exports them does so as ever. A and B begin as normal numbers and as zeros, so W begins as W0.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import tensorflow as tf

Pairs = list[tuple[Any, Any]]
"""Gradients with the variables that they are of."""


class Adapters(keras.layers.Layer):
    """Adapters of some weights of a model.

    Args:
        weights: Variables of two axes, `[m, n]`, with the values W0.
        rank: The r above, at least 1; an adapter has r (m + n) numbers.
        alpha: The alpha above.
        seed: What the initial A are drawn from.

    Attributes:
        scale: alpha / r.

    Raises:
        ValueError: If a weight is no matrix.
    """

    def __init__(self, weights: Sequence[Any], rank: int, alpha: float, seed: int) -> None:
        super().__init__(name="adapters", dtype="float32")
        self.scale = alpha / rank
        self._adapted = {id(weight): place for place, weight in enumerate(weights)}
        self._paths: dict[int, str] = {}
        self._parts = []
        for place, weight in enumerate(weights):
            if len(weight.shape) != 2:
                raise ValueError(f"Adapters are of matrices. Received: {weight.path} {tuple(weight.shape)}")
            (rows, columns), name = weight.shape, weight.path.replace("/", ".")
            normal = keras.initializers.RandomNormal(stddev=rows**-0.5, seed=seed * 100_003 + place)
            first = self.add_weight(name=f"{name}.a", shape=(rows, rank), initializer=normal)
            second = self.add_weight(name=f"{name}.b", shape=(rank, columns), initializer="zeros")
            start = self.add_weight(
                name=f"{name}.start", shape=(rows, columns), initializer="zeros", trainable=False
            )
            start.assign(weight)
            self._paths |= {id(first): weight.path, id(second): weight.path}
            # In a tuple, and the weight aside: Keras would count the model's own among these.
            self._parts.append((weight.value, first, second, start))
        self.built = True

    def path(self, variable: Any) -> str:
        """The path of a variable, for an adapter's that of the weight that it adapts."""
        return self._paths.get(id(variable)) or str(variable.path)

    def trained(self, variables: Iterable[Any]) -> list[Any]:
        """What is trained of a model: adapters in place of what they adapt, and all else as it is."""
        rest = [variable for variable in variables if id(variable) not in self._adapted]
        return [*rest, *(each for _, first, second, _ in self._parts for each in (first, second))]

    def projected(self, pairs: Pairs) -> Pairs:
        """Gradients of weights as those of their adapters; the others as they are."""
        rest: Pairs = []
        found: Pairs = []
        for gradient, variable in pairs:
            place = self._adapted.get(id(variable))
            if place is None:
                rest.append((gradient, variable))
                continue
            _, first, second, _ = self._parts[place]
            scaled = self.scale * tf.cast(tf.convert_to_tensor(gradient), tf.float32)
            found.append((tf.matmul(scaled, tf.convert_to_tensor(second), transpose_b=True), first))
            found.append((tf.matmul(tf.convert_to_tensor(first), scaled, transpose_a=True), second))
        return rest + found

    def merge(self) -> None:
        """Makes each weight W of its adapter, after an update or what else has changed that."""
        for weight, first, second, start in self._parts:
            product = tf.matmul(tf.convert_to_tensor(first), tf.convert_to_tensor(second))
            weight.assign(tf.convert_to_tensor(start) + self.scale * product)
