"""Root mean square normalisation: layer norm without its centring and its shift."""

from typing import Any

import keras

from tf_transformer.ops import Tensor
from tf_transformer.ops.normalization import rms_norm


@keras.saving.register_keras_serializable("tf_transformer")
class RMSNormalization(keras.layers.Layer):
    """Divides by the root of the mean square and scales: `gamma * x / sqrt(mean(x^2) + epsilon)`.

    "Root Mean Square Layer Normalization" (Zhang and Sennrich, 2019). Statistics and weights are float32
    under every policy.

    Args:
        epsilon: Added to the mean square.

    Call arguments:
        inputs: Float tensor `[..., D]`.

    Returns:
        Tensor `[..., D]` in the compute dtype.

    Example:
        >>> import numpy as np
        >>> norm = RMSNormalization()
        >>> [round(float(value), 3) for value in norm(np.array([[1.0, 1.0, 2.0]], "float32"))[0]]
        [0.707, 0.707, 1.414]
    """

    def __init__(self, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.supports_masking = True

    def build(self, inputs_shape: Any) -> None:
        shape = (int(inputs_shape[-1]),)
        self.gamma = self.add_weight(name="gamma", shape=shape, initializer="ones", autocast=False)

    def call(self, inputs: Tensor) -> Tensor:
        return rms_norm(inputs, self.gamma, self.epsilon)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}
