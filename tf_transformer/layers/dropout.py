"""Dropout that needs a quarter of the random numbers."""

from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_rate
from tf_transformer.ops import Tensor

_LEVELS = 256


@keras.saving.register_keras_serializable("tf_transformer")
class Dropout(keras.layers.Layer):
    """Zeroes elements at random while training, and scales the others so that the expectation stays.

    Drawing random numbers is what dropout costs on a CPU, so each draw of 32 bits decides about four
    elements, by one byte each. The rate therefore acts in steps of 1/256 (0.1 as 26/256), and the scale is
    exact for that step. The state of the random numbers is a variable whose path does not depend on what
    else was built before.

    Args:
        rate: The share of elements to zero, from 0 up to, but not including, 1.
        seed: Seed of the random numbers, or None to draw one.

    Call arguments:
        inputs: Float tensor `[..., D]`.

    Returns:
        Tensor `[..., D]`; `inputs` themselves unless training.

    Raises:
        ValueError: If `rate` is out of range.
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_rate(rate=rate)
        self.rate = rate
        self.seed = seed
        # A rate above 0 drops something, and one below 1 keeps something.
        self._threshold = min(max(round(rate * _LEVELS), 1), _LEVELS - 1) if rate > 0 else 0
        self.supports_masking = True

    def build(self, inputs_shape: Any = None) -> None:
        if self.rate > 0:
            # Made here and not in the constructor, so that its variable lies in this layer's name scope.
            self.seed_generator = keras.random.SeedGenerator(self.seed, name="seed_generator")

    def call(self, inputs: Tensor, training: bool | None = False) -> Tensor:
        if not training or self.rate == 0:
            return inputs
        keep = self._random_bytes(inputs) >= self._threshold
        return ops.where(keep, inputs * (_LEVELS / (_LEVELS - self._threshold)), 0.0)

    def _random_bytes(self, inputs: Tensor) -> Tensor:
        *leading, width = ops.shape(inputs)
        num_words = (width + 3) // 4
        words = keras.random.randint((*leading, num_words, 1), -(2**31), 2**31 - 1, seed=self.seed_generator)
        # The width in full, not -1: a replica may get an empty batch.
        random_bytes = ops.reshape(ops.view(words, "uint8"), (*leading, 4 * num_words))
        return random_bytes[..., :width]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
