"""The residual connection with its normalisation: the one place that knows pre-norm from post-norm."""

from typing import Any

import keras

from tf_transformer.arguments import finite_number
from tf_transformer.layers.arguments import check_choice, check_rate, child_seed
from tf_transformer.layers.dropout import Dropout
from tf_transformer.layers.layer_normalization import LayerNormalization
from tf_transformer.layers.rms_normalization import RMSNormalization
from tf_transformer.ops import Tensor

NORMS = ("pre", "post")
NORM_KINDS = ("layer", "rms")


def make_norm(kind: str, epsilon: float, dtype: Any, name: str) -> keras.layers.Layer:
    """The layer that a kind of norm is: `"layer"` (Ba et al., 2016) or `"rms"` (Zhang and Sennrich, 2019)."""
    check_choice(NORM_KINDS, norm_kind=kind)
    norm = LayerNormalization if kind == "layer" else RMSNormalization
    return norm(epsilon=epsilon, dtype=dtype, name=name)


@keras.saving.register_keras_serializable("tf_transformer")
class Residual(keras.layers.Layer):
    """Wraps a layer: `post`: `norm(x + dropout(layer(x)))`; `pre`: `x + dropout(layer(norm(x)))`.

    Post-norm is the original ("Attention Is All You Need", Vaswani et al., 2017, section 5.4). Pre-norm
    trains without care ("On Layer Normalization in the Transformer Architecture", Xiong et al., 2020) and
    leaves the sum without a norm: a stack of such blocks needs one more at its end. Statistics are taken
    in float32.

    Args:
        layer: The layer to wrap; it must keep the shape of its input.
        norm: `"post"` or `"pre"`.
        dropout: Rate of the dropout on what the layer gives.
        epsilon: Added to the variance by the norm.
        scale: What `x` is multiplied by where it is added to the layer's output: alpha of DeepNorm ("DeepNet:
            Scaling Transformers to 1,000 Layers", Wang et al., 2022), for deep post-norm.
        norm_kind: `"layer"` or `"rms"`, see `make_norm`.
        seed: Seed of the dropout, or None to draw one.

    Call arguments:
        inputs: Float tensor `[..., D]`.
        context: A second input of the layer, such as the memory of cross-attention, if it has one.
        **kwargs: Handed to the layer.

    Returns:
        Tensor `[..., D]` in the compute dtype.

    Example:
        >>> import numpy as np
        >>> block = Residual(keras.layers.Dense(8), norm="pre", dropout=0.1)
        >>> tuple(block(np.ones((2, 3, 8), "float32")).shape)
        (2, 3, 8)
    """

    def __init__(
        self,
        layer: keras.layers.Layer,
        norm: str = "post",
        dropout: float = 0.0,
        epsilon: float = 1e-5,
        scale: float = 1.0,
        norm_kind: str = "layer",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice(NORMS, norm=norm)
        check_rate(dropout=dropout)
        self.layer = layer
        self.norm = norm
        self.dropout = dropout
        self.epsilon = epsilon
        self.scale = finite_number("scale", scale, 0.0)
        self.norm_kind = norm_kind
        self.seed = seed
        self.supports_masking = True
        self._norm = make_norm(norm_kind, epsilon, self.dtype_policy, "norm")
        self._dropout = Dropout(
            dropout, seed=child_seed(seed, "dropout"), dtype=self.dtype_policy, name="dropout"
        )

    def build(self, inputs_shape: Any, context_shape: Any = None) -> None:
        self._dropout.build()
        self._norm.build(inputs_shape)
        if not self.layer.built:
            shapes = [inputs_shape] if context_shape is None else [inputs_shape, context_shape]
            self.layer.build(*shapes)

    def call(
        self, inputs: Tensor, context: Tensor | None = None, training: bool | None = None, **kwargs: Any
    ) -> Tensor:
        arguments = [self.enter(inputs)] if context is None else [self.enter(inputs), context]
        return self.leave(inputs, self.layer(*arguments, **kwargs), training=training)

    def enter(self, inputs: Tensor) -> Tensor:
        """What the wrapped layer is given for `inputs`; for callers that use more of it than its call."""
        return self._norm(inputs) if self.norm == "pre" else inputs

    def leave(self, inputs: Tensor, outputs: Tensor, training: bool | None = None) -> Tensor:
        """Joins `inputs` with what the wrapped layer made of them."""
        shortcut = inputs if self.scale == 1.0 else inputs * self.scale
        total = shortcut + self._dropout(outputs, training=training)
        return self._norm(total) if self.norm == "post" else total

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "layer": keras.saving.serialize_keras_object(self.layer),
            "norm": self.norm,
            "dropout": self.dropout,
            "epsilon": self.epsilon,
            "scale": self.scale,
            "norm_kind": self.norm_kind,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Residual":
        layer = keras.saving.deserialize_keras_object(config["layer"])
        return cls(**{**config, "layer": layer})
