"""The position-wise feed-forward network."""

from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_choice, check_positive, check_rate, child_seed
from tf_transformer.layers.dropout import Dropout
from tf_transformer.layers.multi_head_attention import side_by_side
from tf_transformer.ops import Tensor
from tf_transformer.ops.attention import project

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "swish", "swiglu")


@keras.saving.register_keras_serializable("tf_transformer")
class FeedForward(keras.layers.Layer):
    """Transforms each position by itself: wider, through an activation, and back.

    `relu`: `max(0, x W1 + b1) W2 + b2`, section 3.3 of "Attention Is All You Need" (Vaswani et al., 2017);
    `gelu`: the same with the exact GELU (Hendrycks and Gimpel, 2016);
    `gelu_tanh`: the same with the approximation of GELU by tanh in that paper, which BERT was trained with;
    `swish`: the same with `x sigmoid(x)` ("Searching for Activation Functions", Ramachandran et al., 2017);
    `swiglu`: `(silu(x Wg + bg) * (x W1 + b1)) W2 + b2` ("GLU Variants Improve Transformer", Shazeer, 2020).
    Kernels start Xavier-uniform.

    Args:
        intermediate_dim: The width in the middle; `swiglu` has two matrices of this width.
        output_dim: Width of the outputs; by default that of the inputs.
        activation: `"relu"`, `"gelu"`, `"gelu_tanh"`, `"swish"` or `"swiglu"`.
        dropout: Rate of the dropout behind the activation.
        use_bias: Whether the projections have a bias.
        initial_gain: What Xavier's initial kernels are multiplied by.
        seed: Seed of the dropout and of the initial kernels, or None to draw one.

    Call arguments:
        inputs: Float tensor `[..., D]`.

    Returns:
        Tensor `[..., output_dim]` in the compute dtype.

    Example:
        >>> import numpy as np
        >>> tuple(FeedForward(intermediate_dim=7, activation="swiglu")(np.ones((2, 3, 5), "float32")).shape)
        (2, 3, 5)
    """

    def __init__(
        self,
        intermediate_dim: int,
        output_dim: int | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        use_bias: bool = True,
        initial_gain: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(intermediate_dim=intermediate_dim, output_dim=output_dim)
        check_choice(ACTIVATIONS, activation=activation)
        check_rate(dropout=dropout)
        self.intermediate_dim = intermediate_dim
        self.output_dim = output_dim
        self.activation = activation
        self.dropout = dropout
        self.use_bias = use_bias
        self.initial_gain = initial_gain
        self.seed = seed
        self.supports_masking = True
        self._dropout = Dropout(
            dropout, seed=child_seed(seed, "dropout"), dtype=self.dtype_policy, name="dropout"
        )

    def build(self, inputs_shape: Any) -> None:
        self._dropout.build()
        width = int(inputs_shape[-1])
        self._inner_roles = ("gate", "inner") if self.activation == "swiglu" else ("inner",)
        for role in self._inner_roles:
            self._add_projection(role, width, self.intermediate_dim)
        self._add_projection("output", self.intermediate_dim, self.output_dim or width)

    def _add_projection(self, role: str, inputs_dim: int, outputs_dim: int) -> None:
        gain, seed = self.initial_gain, child_seed(self.seed, role)
        xavier = keras.initializers.VarianceScaling(gain**2, "fan_avg", "uniform", seed=seed)
        kernel = self.add_weight(
            name=f"{role}_kernel", shape=(inputs_dim, outputs_dim), initializer=xavier, autocast=False
        )
        setattr(self, f"{role}_kernel", kernel)
        bias = None
        if self.use_bias:
            bias = self.add_weight(
                name=f"{role}_bias", shape=(outputs_dim,), initializer="zeros", autocast=False
            )
        setattr(self, f"{role}_bias", bias)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        inner = self._activate(self._project(inputs, self._inner_roles))  # [..., intermediate_dim]
        return self._project(self._dropout(inner, training=training), ("output",))

    def _project(self, inputs: Tensor, roles: tuple[str, ...]) -> Tensor:
        kernel = side_by_side([getattr(self, f"{role}_kernel") for role in roles], self.compute_dtype)
        biases = [getattr(self, f"{role}_bias") for role in roles] if self.use_bias else []
        return project(inputs, kernel, side_by_side(biases, self.compute_dtype))

    def _activate(self, inner: Tensor) -> Tensor:
        if self.activation == "relu":
            return ops.relu(inner)
        if self.activation in ("gelu", "gelu_tanh"):
            return ops.gelu(inner, approximate=self.activation == "gelu_tanh")
        if self.activation == "swish":
            return ops.silu(inner)
        gate, inner = ops.split(inner, 2, axis=-1)
        return ops.silu(gate) * inner

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "intermediate_dim": self.intermediate_dim,
            "output_dim": self.output_dim,
            "activation": self.activation,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "initial_gain": self.initial_gain,
            "seed": self.seed,
        }
