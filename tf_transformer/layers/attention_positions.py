"""What self-attention knows of where its queries and keys stand."""

from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_choice, check_positive, child_seed
from tf_transformer.ops import Tensor
from tf_transformer.ops.positions import POSITION_KINDS, clipped_distances, distance_penalties, rotate

MAX_DISTANCE = 16
"""That of Shaw et al., 2018, for their base model."""


@keras.saving.register_keras_serializable("tf_transformer")
class AttentionPositions(keras.layers.Layer):
    """The positions that belong to attention itself, a part of `MultiHeadAttention`; see `ops.positions`.

    `relative`: a trained vector for each clipped distance is added to the keys, and another to the values
    (Shaw et al., 2018); all heads share them. `rotary`: queries and keys are turned (Su et al., 2021).
    `alibi`: distances are taken from the scores (Press et al., 2022). Any other kind does nothing here.

    Args:
        kind: One of `POSITION_KINDS`.
        num_heads: The number H of heads.
        max_distance: The greatest distance that `relative` tells from greater ones.
        seed: Seed of the initial vectors, or None to draw one.
    """

    def __init__(
        self,
        kind: str,
        num_heads: int,
        max_distance: int = MAX_DISTANCE,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice(POSITION_KINDS, positions=kind)
        check_positive(num_heads=num_heads, max_distance=max_distance)
        self.kind = kind
        self.num_heads = num_heads
        self.max_distance = max_distance
        self.seed = seed

    def build(self, key_shape: Any, value_shape: Any) -> None:
        key_dim, value_dim = int(key_shape[-1]), int(value_shape[-1])
        if self.kind == "rotary" and key_dim % 2:
            raise ValueError(
                "Rotary positions need an even width of a head (`key_dim`, or `hidden_dim` divided by "
                f"`num_heads`). Received: {key_dim}"
            )
        if self.kind == "relative":
            self._add_table("key", key_dim)
            self._add_table("value", value_dim)

    def _add_table(self, role: str, width: int) -> None:
        xavier = keras.initializers.GlorotUniform(seed=child_seed(self.seed, role))
        shape = (2 * self.max_distance + 1, width)
        table = self.add_weight(name=f"{role}_table", shape=shape, initializer=xavier, autocast=False)
        setattr(self, f"{role}_table", table)

    def place(self, heads: Tensor, past: Tensor | None) -> Tensor:
        """Queries or keys `[..., T, d]`, as they enter the products.

        Args:
            heads: Those of the positions behind `past`.
            past: The keys `[..., t, d]` before them; None where there are none.
        """
        if self.kind != "rotary":
            return heads
        positions = ops.arange(ops.shape(heads)[-2])
        return rotate(heads, positions if past is None else ops.shape(past)[-2] + positions)

    def distances(self, query: Tensor, key: Tensor) -> dict[str, Any]:
        """What queries make of how far keys are, as keywords of `dot_product_attention`.

        Args:
            query: Tensor `[..., T, d]`, of the last T positions.
            key: Tensor `[..., S, d]`, of all positions.
        """
        if self.kind not in ("relative", "alibi"):
            return {}
        num_queries, num_keys = ops.shape(query)[-2], ops.shape(key)[-2]
        queries, keys = num_keys - num_queries + ops.arange(num_queries), ops.arange(num_keys)
        if self.kind == "alibi":
            return {"penalties": distance_penalties(queries, keys, self.num_heads)}
        rows = clipped_distances(queries, keys, self.max_distance)  # [T, S]
        tables = (ops.cast(table, self.compute_dtype) for table in (self.key_table, self.value_table))
        return {"between": tuple(ops.take(table, rows, axis=0) for table in tables)}

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "kind": self.kind,
            "num_heads": self.num_heads,
            "max_distance": self.max_distance,
            "seed": self.seed,
        }
