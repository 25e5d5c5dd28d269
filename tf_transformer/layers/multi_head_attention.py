"""Multi-head attention: the projections around `ops.attention.dot_product_attention`."""

from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_head_groups, check_positive, check_rate, child_seed
from tf_transformer.layers.attention_positions import MAX_DISTANCE, AttentionPositions
from tf_transformer.layers.dropout import Dropout
from tf_transformer.ops import Tensor
from tf_transformer.ops.attention import dot_product_attention, merge_heads, project, split_heads
from tf_transformer.ops.masks import expand_mask


@keras.saving.register_keras_serializable("tf_transformer")
class MultiHeadAttention(keras.layers.Layer):
    """Lets every query gather values from the keys that match it, in several subspaces at once.

    "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.2. Kernels start Xavier-uniform; those of
    queries, keys and values are scaled by `2 ** -0.5`, as is right for three matrices side by side.

    Args:
        num_heads: The number H of heads.
        key_dim: Width of the queries and keys of one head; by default the width of the queries divided by H.
        value_dim: Width of the values of one head; by default `key_dim`.
        output_dim: Width of the outputs; by default the width of the queries.
        num_key_value_heads: The number G of heads of keys and values; it must divide H, and H / G heads of
            the queries share each (Ainslie et al., 2023). By default H; 1 is multi-query attention.
        dropout: Rate of the dropout on the attention weights.
        use_bias: Whether the four projections have a bias.
        positions: What self-attention knows of positions: `"relative"`, `"rotary"` or `"alibi"`, see
            `AttentionPositions`; any other of `POSITION_KINDS` is nothing here. Attention to anything but
            the queries themselves knows none.
        max_distance: The greatest distance that relative positions tell from greater ones.
        initial_gain: What the initial kernels of values and outputs are multiplied by, those of queries and
            keys staying Xavier's: beta of DeepNorm (Wang et al., 2022). None for the usual kernels.
        seed: Seed of the dropout and of the initial kernels, or None to draw one.

    Call arguments:
        query: Float tensor `[B, T, D]`.
        key: Float tensor `[B, S, D']`; by default `query` (self-attention).
        value: Float tensor `[B, S, D'']`; by default `key`.
        attention_mask: Boolean tensor `[B, S]`, `[B, T, S]` or `[B, H, T, S]` (any axis may be 1), True = may
            attend; by default everywhere.
        return_attention_scores: Whether the weights are returned too: those before dropout.

    Returns:
        Outputs `[B, T, output_dim]` in the compute dtype, or the pair of them and the weights `[B, H, T, S]`
        in float32. A query whose keys are all masked gets a finite output.

    Raises:
        ValueError: If `key_dim` is left out and the width of the queries is not divisible by `num_heads`, if
            `num_key_value_heads` does not divide it, or if `value` comes without `key`.

    Example:
        >>> import numpy as np
        >>> attention = MultiHeadAttention(num_heads=2, value_dim=3)
        >>> outputs, weights = attention(np.ones((1, 5, 8), "float32"), return_attention_scores=True)
        >>> tuple(outputs.shape), tuple(weights.shape)
        ((1, 5, 8), (1, 2, 5, 5))
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int | None = None,
        value_dim: int | None = None,
        output_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        initial_gain: float | None = None,
        num_key_value_heads: int | None = None,
        positions: str = "none",
        max_distance: int = MAX_DISTANCE,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads, key_dim=key_dim, value_dim=value_dim, output_dim=output_dim)
        check_head_groups(num_heads, num_key_value_heads)
        check_rate(dropout=dropout)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim
        self.output_dim = output_dim
        self.dropout = dropout
        self.use_bias = use_bias
        self.initial_gain = initial_gain
        self.num_key_value_heads = num_key_value_heads
        self.positions = positions
        self.max_distance = max_distance
        self.seed = seed
        self.supports_masking = True
        self._positions = AttentionPositions(
            positions,
            num_heads,
            max_distance,
            seed=child_seed(seed, "positions"),
            dtype=self.dtype_policy,
            name="positions",
        )
        self._dropout = Dropout(
            dropout, seed=child_seed(seed, "dropout"), dtype=self.dtype_policy, name="dropout"
        )

    def build(self, query_shape: Any, key_shape: Any = None, value_shape: Any = None) -> None:
        self._dropout.build()
        query_width = int(query_shape[-1])
        key_width = query_width if key_shape is None else int(key_shape[-1])
        value_width = key_width if value_shape is None else int(value_shape[-1])
        if self.key_dim is None and query_width % self.num_heads:
            raise ValueError(
                "The width of the model (`hidden_dim`) must be divisible by `num_heads`, unless `key_dim` is "
                f"given. Received: hidden_dim={query_width}, num_heads={self.num_heads}"
            )
        head_dim = self.key_dim or query_width // self.num_heads
        value_dim = self.value_dim or head_dim
        num_groups = self.num_key_value_heads or self.num_heads
        gain = self.initial_gain
        usual, shrunk = (2**-0.5, 1.0) if gain is None else (1.0, gain)
        self._add_projection("query", query_width, self.num_heads * head_dim, usual)
        self._add_projection("key", key_width, num_groups * head_dim, usual)
        self._add_projection("value", value_width, num_groups * value_dim, usual * shrunk)
        self._add_projection("output", self.num_heads * value_dim, self.output_dim or query_width, shrunk)
        self._positions.build((None, head_dim), (None, value_dim))

    def _add_projection(self, role: str, inputs_dim: int, outputs_dim: int, gain: float) -> None:
        seed = child_seed(self.seed, role)
        xavier = keras.initializers.VarianceScaling(gain**2, "fan_avg", "uniform", seed=seed)
        # Cast where they are used, since decoding reaches them without passing through `__call__`.
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

    def call(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
    ) -> Any:
        if key is None and value is not None:
            raise ValueError("Argument `value` needs its `key`. Received: key=None")
        mask = None if attention_mask is None else expand_mask(attention_mask)
        if key is None or (key is query and value is None):
            outputs, weights, _ = self.attend_self(query, mask, training=training)
        else:
            key_heads, value_heads = self.project_memory(key, value)
            outputs, weights = self.attend_memory(query, key_heads, value_heads, mask, training=training)
        return (outputs, weights) if return_attention_scores else outputs

    def attend_self(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        cache: dict[str, Tensor] | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Self-attention over a sequence, or of its next position over those in a cache.

        Args:
            inputs: Tensor `[..., T, D]` in the compute dtype.
            mask: Boolean tensor broadcastable to `[..., H, T, S]`, or None.
            cache: `key` `[..., G, t, d]` and `value` `[..., G, t, e]` of the positions before, or None.
            training: Whether to drop out.

        Returns:
            Outputs `[..., T, output_dim]`, weights `[..., H, T, t + T]`, the cache with `inputs` appended.
        """
        query, key, value = self._project(inputs, ("query", "key", "value"))
        past = None if cache is None else cache["key"]
        query, key = self._positions.place(query, past), self._positions.place(key, past)
        if cache is not None:
            key = ops.concatenate([cache["key"], key], axis=-2)
            value = ops.concatenate([cache["value"], value], axis=-2)
        distances = self._positions.distances(query, key)
        outputs, weights = self._attend(query, key, value, mask, training, distances)
        return outputs, weights, {"key": key, "value": value}

    def attend_memory(
        self,
        inputs: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Cross-attention of `inputs` `[B, T, D]` over keys and values that `project_memory` made.

        Returns:
            Outputs `[B, T, output_dim]` and weights `[B, H, T, S]`.
        """
        (query,) = self._project(inputs, ("query",))
        return self._attend(query, key, value, mask, training)

    def project_memory(self, key: Tensor, value: Tensor | None = None) -> list[Tensor]:
        """Keys `[B, G, S, d]` and values `[B, G, S, e]` of a memory `[B, S, D]`."""
        if value is None or value is key:
            return self._project(key, ("key", "value"))
        return self._project(key, ("key",)) + self._project(value, ("value",))

    def kernel_and_bias(self, roles: tuple[str, ...]) -> tuple[Tensor, Tensor | None]:
        """The kernels and biases of several projections side by side, in the compute dtype."""
        kernels = [getattr(self, f"{role}_kernel") for role in roles]
        biases = [getattr(self, f"{role}_bias") for role in roles] if self.use_bias else []
        return side_by_side(kernels, self.compute_dtype), side_by_side(biases, self.compute_dtype)

    def _project(self, inputs: Tensor, roles: tuple[str, ...]) -> list[Tensor]:
        # One wide product instead of several narrow ones: narrow products are what a CPU is slow at.
        outputs = project(inputs, *self.kernel_and_bias(roles))
        widths = [getattr(self, f"{role}_kernel").shape[-1] for role in roles]
        bounds = [sum(widths[:count]) for count in range(1, len(widths))]
        parts = ops.split(outputs, bounds, axis=-1) if bounds else [outputs]
        num_groups = self.num_key_value_heads or self.num_heads
        counts = [self.num_heads if role == "query" else num_groups for role in roles]
        return [split_heads(part, count) for part, count in zip(parts, counts, strict=True)]

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        training: bool | None,
        distances: dict[str, Any] | None = None,
    ) -> tuple[Tensor, Tensor]:
        def drop(used: Tensor) -> Tensor:
            return self._dropout(used, training=training)

        outputs, weights = dot_product_attention(query, key, value, mask, drop, **(distances or {}))
        return project(merge_heads(outputs), *self.kernel_and_bias(("output",))), weights

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "output_dim": self.output_dim,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "initial_gain": self.initial_gain,
            "num_key_value_heads": self.num_key_value_heads,
            "positions": self.positions,
            "max_distance": self.max_distance,
            "seed": self.seed,
        }


def side_by_side(weights: list[Tensor], dtype: str) -> Tensor | None:
    """Concatenates weights along their last axis, cast to `dtype`; None if there are none."""
    if not weights:
        return None
    cast = [ops.cast(weight, dtype) for weight in weights]
    return cast[0] if len(cast) == 1 else ops.concatenate(cast, axis=-1)
