"""Layer normalisation in float32, at less cost than Keras' own."""

from typing import Any

import keras

from tf_transformer.ops import Tensor
from tf_transformer.ops.normalization import layer_norm


@keras.saving.register_keras_serializable("tf_transformer")
class LayerNormalization(keras.layers.Layer):
    """Normalises the last axis and scales it: `gamma * (x - mean) / sqrt(variance + epsilon) + beta`.

    "Layer Normalization" (Ba et al., 2016). Statistics and weights are float32 under every policy.

    Args:
        epsilon: Added to the variance.

    Call arguments:
        inputs: Float tensor `[..., D]`.

    Returns:
        Tensor `[..., D]` in the compute dtype.

    Example:
        >>> import numpy as np
        >>> norm = LayerNormalization()
        >>> [round(float(value), 3) for value in norm(np.array([[1.0, 2.0, 3.0]], "float32"))[0]]
        [-1.225, 0.0, 1.225]
    """

    def __init__(self, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.supports_masking = True

    def build(self, inputs_shape: Any) -> None:
        width = int(inputs_shape[-1])
        self.gamma = self.add_weight(name="gamma", shape=(width,), initializer="ones", autocast=False)
        self.beta = self.add_weight(name="beta", shape=(width,), initializer="zeros", autocast=False)

    def call(self, inputs: Tensor) -> Tensor:
        return layer_norm(inputs, self.gamma, self.beta, self.epsilon)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}
