"""What blocks of the encoder and the decoder, and stacks of them, have in common."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import (
    check_choice,
    check_head_groups,
    check_positive,
    check_rate,
    child_seed,
)
from tf_transformer.layers.attention_positions import MAX_DISTANCE
from tf_transformer.layers.feed_forward import ACTIVATIONS, FeedForward
from tf_transformer.layers.multi_head_attention import MultiHeadAttention
from tf_transformer.layers.residual import NORM_KINDS, NORMS, Residual, make_norm
from tf_transformer.ops import Tensor
from tf_transformer.ops.positions import POSITION_KINDS


@dataclass(frozen=True)
class BlockSettings:
    """What a block is made of: the keywords of `EncoderBlock`, `DecoderBlock`, `Encoder` and `Decoder`.

    Args:
        num_heads: The number H of heads; it must divide the width of the inputs.
        intermediate_dim: The width in the middle of the feed-forward network.
        dropout: Rate of the dropout on what each part adds.
        attention_dropout: Rate of the dropout on the attention weights.
        activation_dropout: Rate of the dropout inside the feed-forward network.
        activation: `"relu"`, `"gelu"`, `"gelu_tanh"`, `"swish"` or `"swiglu"`.
        norm: `"post"` or `"pre"`.
        epsilon: Added to the variance by the norms.
        residual_scale: See `scale` of `Residual`; for deep post-norm.
        initial_gain: See `MultiHeadAttention` and `FeedForward`; for deep post-norm.
        norm_kind: `"layer"` or `"rms"`.
        num_key_value_heads: The number of heads of keys and values, which must divide H; by default H.
        positions: Those that belong to self-attention, `"relative"`, `"rotary"` or `"alibi"`; any other kind
            is the business of `PositionalEncoding`, and nothing here.
        max_distance: The greatest distance that relative positions tell from greater ones.
        seed: Seed of all dropouts and initial weights, or None to draw them.

    Raises:
        ValueError: If a setting is out of range.
    """

    num_heads: int
    intermediate_dim: int
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: str = "relu"
    norm: str = "post"
    epsilon: float = 1e-5
    residual_scale: float = 1.0
    initial_gain: float | None = None
    norm_kind: str = "layer"
    num_key_value_heads: int | None = None
    positions: str = "none"
    max_distance: int = MAX_DISTANCE
    seed: int | None = None

    def __post_init__(self) -> None:
        check_positive(
            num_heads=self.num_heads, intermediate_dim=self.intermediate_dim, max_distance=self.max_distance
        )
        check_head_groups(self.num_heads, self.num_key_value_heads)
        check_rate(
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            activation_dropout=self.activation_dropout,
        )
        check_choice(ACTIVATIONS, activation=self.activation)
        check_choice(NORMS, norm=self.norm)
        check_choice(NORM_KINDS, norm_kind=self.norm_kind)
        check_choice(POSITION_KINDS, positions=self.positions)


class Block(keras.layers.Layer):
    """What `EncoderBlock` and `DecoderBlock` share: how they make their parts.

    Args:
        **keywords: Those of `BlockSettings`, and those of every Keras layer.
    """

    def __init__(self, num_heads: int, intermediate_dim: int, **keywords: Any) -> None:
        names = {field.name for field in fields(BlockSettings)}
        super().__init__(**{name: value for name, value in keywords.items() if name not in names})
        own = {name: value for name, value in keywords.items() if name in names}
        self.settings = BlockSettings(num_heads, intermediate_dim, **own)
        self.supports_masking = True

    def _residual(self, layer: keras.layers.Layer, name: str) -> Residual:
        settings = self.settings
        return Residual(
            layer,
            norm=settings.norm,
            dropout=settings.dropout,
            epsilon=settings.epsilon,
            scale=settings.residual_scale,
            norm_kind=settings.norm_kind,
            seed=child_seed(settings.seed, name),
            dtype=self.dtype_policy,
            name=name,
        )

    def _attention(self, name: str, positions: str = "none") -> Residual:
        settings = self.settings
        attention = MultiHeadAttention(
            num_heads=settings.num_heads,
            dropout=settings.attention_dropout,
            initial_gain=settings.initial_gain,
            num_key_value_heads=settings.num_key_value_heads,
            positions=positions,
            max_distance=settings.max_distance,
            seed=child_seed(settings.seed, f"{name}/attention"),
            dtype=self.dtype_policy,
            name="attention",
        )
        return self._residual(attention, name)

    def _feed_forward(self, name: str) -> Residual:
        settings = self.settings
        network = FeedForward(
            intermediate_dim=settings.intermediate_dim,
            activation=settings.activation,
            dropout=settings.activation_dropout,
            initial_gain=1.0 if settings.initial_gain is None else settings.initial_gain,
            seed=child_seed(settings.seed, f"{name}/network"),
            dtype=self.dtype_policy,
            name="network",
        )
        return self._residual(network, name)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **asdict(self.settings)}


class Stack(Block):
    """What `Encoder` and `Decoder` share: numbered blocks, and after pre-norm blocks one more norm.

    Args:
        num_layers: The number of blocks.
        num_heads: This and all others: see `BlockSettings`.
        share_layers: Whether all blocks are one, whose weights are used again at every depth: "ALBERT: A Lite
            BERT for Self-supervised Learning of Language Representations" (Lan et al., 2020), section 3.1.
    """

    def __init__(
        self,
        num_layers: int,
        num_heads: int,
        intermediate_dim: int,
        *,
        share_layers: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(num_heads, intermediate_dim, **keywords)
        check_positive(num_layers=num_layers)
        self.num_layers = num_layers
        self.share_layers = share_layers
        self.final_norm = None
        if self.settings.norm == "pre":
            kind, epsilon = self.settings.norm_kind, self.settings.epsilon
            self.final_norm = make_norm(kind, epsilon, self.dtype_policy, "final_norm")

    @property
    def blocks(self) -> list[Any]:
        """The blocks of a built stack; where it shares its layers, the one that stands at every depth."""
        return list(self._blocks)

    def _make_blocks(self, block: type[Block], inputs_shape: Any) -> list[Any]:
        num_heads, num_groups = self.settings.num_heads, self.settings.num_key_value_heads
        self._key_value_shape = num_groups or num_heads, int(inputs_shape[-1]) // num_heads
        names = [f"block_{index}" for index in range(1 if self.share_layers else self.num_layers)]
        settings = [replace(self.settings, seed=child_seed(self.settings.seed, name)) for name in names]
        return [
            block(**asdict(own), dtype=self.dtype_policy, name=name)
            for own, name in zip(settings, names, strict=True)
        ]

    def _at_each_depth(self, parts: list[Any]) -> list[Any]:
        """What belongs to the blocks, repeated where one block stands at every depth."""
        return parts * (self.num_layers // len(parts))

    def empty_cache(self, batch_size: int | Tensor, num_hypotheses: int | Tensor) -> list[dict[str, Tensor]]:
        """At each depth the keys and values `[B, K, G, 0, d]` of no position at all."""
        num_groups, head_dim = self._key_value_shape
        shape = (batch_size, num_hypotheses, num_groups, 0, head_dim)
        return [
            {role: ops.zeros(shape, self.compute_dtype) for role in ("key", "value")}
            for _ in range(self.num_layers)
        ]

    def _finish(self, states: Tensor) -> Tensor:
        return states if self.final_norm is None else self.final_norm(states)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_layers": self.num_layers, "share_layers": self.share_layers}
