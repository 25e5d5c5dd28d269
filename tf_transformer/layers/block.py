"""What blocks of the encoder and the decoder, and stacks of them, have in common."""

from typing import Any

import keras

from tf_transformer.layers.arguments import check_choice, check_positive, check_rate, child_seed
from tf_transformer.layers.feed_forward import ACTIVATIONS, FeedForward
from tf_transformer.layers.layer_normalization import LayerNormalization
from tf_transformer.layers.multi_head_attention import MultiHeadAttention
from tf_transformer.layers.residual import NORMS, Residual
from tf_transformer.ops import Tensor


class Block(keras.layers.Layer):
    """What `EncoderBlock` and `DecoderBlock` share: their arguments, and how they make their parts from them.

    Args:
        num_heads: The number H of heads; it must divide the width of the inputs.
        intermediate_dim: The width in the middle of the feed-forward network.
        dropout: Rate of the dropout on what each part adds.
        attention_dropout: Rate of the dropout on the attention weights.
        activation_dropout: Rate of the dropout inside the feed-forward network.
        activation: `"relu"`, `"gelu"` or `"swiglu"`.
        norm: `"post"` or `"pre"`.
        epsilon: Added to the variance by the norms.
        residual_scale: See `scale` of `Residual`; for deep post-norm.
        initial_gain: See `MultiHeadAttention` and `FeedForward`; for deep post-norm.
        seed: Seed of all dropouts and initial weights, or None to draw them.
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation: str = "relu",
        norm: str = "post",
        epsilon: float = 1e-5,
        residual_scale: float = 1.0,
        initial_gain: float | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads, intermediate_dim=intermediate_dim)
        check_rate(
            dropout=dropout, attention_dropout=attention_dropout, activation_dropout=activation_dropout
        )
        check_choice(ACTIVATIONS, activation=activation)
        check_choice(NORMS, norm=norm)
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.activation_dropout = activation_dropout
        self.activation = activation
        self.norm = norm
        self.epsilon = epsilon
        self.residual_scale = residual_scale
        self.initial_gain = initial_gain
        self.seed = seed
        self.supports_masking = True

    def _residual(self, layer: keras.layers.Layer, name: str) -> Residual:
        return Residual(
            layer,
            norm=self.norm,
            dropout=self.dropout,
            epsilon=self.epsilon,
            scale=self.residual_scale,
            seed=child_seed(self.seed, name),
            dtype=self.dtype_policy,
            name=name,
        )

    def _attention(self, name: str) -> Residual:
        attention = MultiHeadAttention(
            num_heads=self.num_heads,
            dropout=self.attention_dropout,
            initial_gain=self.initial_gain,
            seed=child_seed(self.seed, f"{name}/attention"),
            dtype=self.dtype_policy,
            name="attention",
        )
        return self._residual(attention, name)

    def _feed_forward(self, name: str) -> Residual:
        network = FeedForward(
            intermediate_dim=self.intermediate_dim,
            activation=self.activation,
            dropout=self.activation_dropout,
            initial_gain=1.0 if self.initial_gain is None else self.initial_gain,
            seed=child_seed(self.seed, f"{name}/network"),
            dtype=self.dtype_policy,
            name="network",
        )
        return self._residual(network, name)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.settings()}

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, but for those of every Keras layer."""
        return {
            "num_heads": self.num_heads,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "activation_dropout": self.activation_dropout,
            "activation": self.activation,
            "norm": self.norm,
            "epsilon": self.epsilon,
            "residual_scale": self.residual_scale,
            "initial_gain": self.initial_gain,
            "seed": self.seed,
        }


class Stack(Block):
    """What `Encoder` and `Decoder` share: numbered blocks, and after pre-norm blocks one more norm.

    Args:
        num_layers: The number of blocks.
        num_heads: This and all others: see `Block`.
    """

    def __init__(
        self,
        num_layers: int,
        num_heads: int,
        intermediate_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation: str = "relu",
        norm: str = "post",
        epsilon: float = 1e-5,
        residual_scale: float = 1.0,
        initial_gain: float | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            num_heads=num_heads,
            intermediate_dim=intermediate_dim,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            activation=activation,
            norm=norm,
            epsilon=epsilon,
            residual_scale=residual_scale,
            initial_gain=initial_gain,
            seed=seed,
            **kwargs,
        )
        check_positive(num_layers=num_layers)
        self.num_layers = num_layers
        self.final_norm = None
        if norm == "pre":
            self.final_norm = LayerNormalization(epsilon=epsilon, dtype=self.dtype_policy, name="final_norm")

    def _make_blocks(self, block: type[Block]) -> list[Any]:
        names = [f"block_{index}" for index in range(self.num_layers)]
        settings = Block.settings(self)
        return [
            block(**{**settings, "seed": child_seed(self.seed, name)}, dtype=self.dtype_policy, name=name)
            for name in names
        ]

    def _finish(self, states: Tensor) -> Tensor:
        return states if self.final_norm is None else self.final_norm(states)

    def settings(self) -> dict[str, Any]:
        return {"num_layers": self.num_layers, **super().settings()}
