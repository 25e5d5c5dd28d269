"""Vectors that are no tokens, such as audio features or readings of sensors, on their way into an encoder."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_positive, child_seed
from tf_transformer.layers.positional_encoding import PositionalEncoding
from tf_transformer.layers.scaling import channel_numbers, check_widths, standardized
from tf_transformer.ops import Tensor
from tf_transformer.ops.attention import project
from tf_transformer.ops.masks import length_mask


@keras.saving.register_keras_serializable("tf_transformer")
class VectorEmbedding(keras.layers.Layer):
    """Projects each vector of a sequence, after its features were standardised, and adds its position.

    A layer that a `Classifier` or a `Transformer` can have before its encoder.

    Args:
        hidden_dim: The width D of what it gives.
        mean: What is taken from each feature: one number, or one a feature.
        deviation: What the difference is divided by, likewise; above 0.
        positions: This, `max_length` and `norm_kind`: see `PositionalEncoding`.
        dropout: Rate of the dropout on the sum.
        seed: Seed of the dropout and of the initial weights, or None to draw them.

    Call arguments:
        inputs: Float tensor `[B, T, F]`, T vectors of F features.
        lengths: Integer tensor `[B]`, how many vectors of each sequence are real; by default all are. It has
            no part in the outputs: `padding_mask` makes of it what an encoder needs.

    Returns:
        Tensor `[B, T, D]` in the compute dtype.

    Raises:
        ValueError: If there are not as many means or deviations as features.

    Example:
        >>> import numpy as np
        >>> embedding = VectorEmbedding(hidden_dim=8, mean=[0.0, 50.0], deviation=[1.0, 20.0])
        >>> tuple(embedding(np.ones((3, 5, 2), "float32")).shape)
        (3, 5, 8)
    """

    inputs = ("vectors", "lengths")
    COUNTS = ("source_vectors", "source_positions")

    def __init__(
        self,
        hidden_dim: int,
        mean: float | Sequence[float] = 0.0,
        deviation: float | Sequence[float] = 1.0,
        positions: str = "sinusoidal",
        max_length: int | None = None,
        norm_kind: str | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(hidden_dim=hidden_dim)
        self.hidden_dim = hidden_dim
        self.mean = channel_numbers("mean", mean)
        self.deviation = channel_numbers("deviation", deviation, above=0.0)
        self.positions = positions
        self.max_length = max_length
        self.norm_kind = norm_kind
        self.dropout = dropout
        self.seed = seed
        self.supports_masking = True
        self._place = PositionalEncoding(
            positions,
            max_length=max_length,
            norm_kind=norm_kind,
            dropout=dropout,
            seed=child_seed(seed, "positions"),
            dtype=self.dtype_policy,
            name="positions",
        )

    def build(self, inputs_shape: Any) -> None:
        width = int(inputs_shape[-1])
        check_widths(width, mean=self.mean, deviation=self.deviation)
        xavier = keras.initializers.GlorotUniform(seed=child_seed(self.seed, "kernel"))
        shape = (width, self.hidden_dim)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer=xavier, autocast=False)
        self.bias = self.add_weight(name="bias", shape=shape[1:], initializer="zeros", autocast=False)
        self._place.build((None, None, self.hidden_dim))

    def call(self, inputs: Tensor, lengths: Tensor | None = None, training: bool | None = None) -> Tensor:
        dtype = self.compute_dtype
        scaled = ops.cast(standardized(inputs, self.mean, self.deviation), dtype)
        states = project(scaled, ops.cast(self.kernel, dtype), ops.cast(self.bias, dtype))
        return self._place(states, training=training)

    def padding_mask(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor | None:
        """Boolean `[B, T]`, True at real vectors; None where all are."""
        return None if lengths is None else length_mask(lengths, ops.shape(inputs)[1])[:, 0, 0]

    def counts(self, inputs: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """The real vectors of a batch and all its positions: integer scalars."""
        return {"source_vectors": ops.sum(lengths), "source_positions": ops.size(inputs[..., 0])}

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "hidden_dim": self.hidden_dim,
            "mean": self.mean,
            "deviation": self.deviation,
            "positions": self.positions,
            "max_length": self.max_length,
            "norm_kind": self.norm_kind,
            "dropout": self.dropout,
            "seed": self.seed,
        }
