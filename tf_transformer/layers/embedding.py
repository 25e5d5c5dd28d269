"""Token ids to vectors, and, with the very same table, vectors to logits."""

import math
from typing import Any

import keras
from keras import ops

from tf_transformer.arguments import finite_number
from tf_transformer.layers.arguments import check_positive, child_seed
from tf_transformer.ops import Tensor
from tf_transformer.ops.attention import project
from tf_transformer.presets import PAD_ID


@keras.saving.register_keras_serializable("tf_transformer")
class TokenEmbedding(keras.layers.Layer):
    """Looks tokens up in a table; with `reverse=True`, multiplies by the table to get logits.

    Sharing the table between input and output, and its scaling by `sqrt(hidden_dim)` on the way in, are
    section 3.4 of "Attention Is All You Need" (Vaswani et al., 2017). The table starts normally distributed
    with deviation `hidden_dim ** -0.5` times `deviation`, its padding row as zeros.

    Args:
        vocabulary_size: The number V of tokens.
        hidden_dim: The width D of a vector.
        scale: Whether the vectors are multiplied by `sqrt(hidden_dim)`.
        output_bias: Whether a number of each token's own is added to its logits.
        deviation: The deviation of such vectors at the beginning.
        seed: Seed of the initial table, or None to draw one.

    Call arguments:
        inputs: Integer tensor `[...]` of ids below V; with `reverse=True`, a float tensor `[..., D]`.
        reverse: Whether to go from vectors to logits.

    Returns:
        Vectors `[..., D]` in the compute dtype; with `reverse=True`, logits `[..., V]` in float32.

    Raises:
        TypeError: If ids are not integers: halves and rounding would silently turn one token into another.

    Example:
        >>> import numpy as np
        >>> embedding = TokenEmbedding(vocabulary_size=11, hidden_dim=4)
        >>> states = embedding(np.array([[5, 7, 0]]))
        >>> tuple(states.shape), tuple(embedding(states, reverse=True).shape)
        ((1, 3, 4), (1, 3, 11))
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        scale: bool = True,
        output_bias: bool = False,
        deviation: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(vocabulary_size=vocabulary_size, hidden_dim=hidden_dim)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.scale = scale
        self.output_bias = output_bias
        self.deviation = finite_number("deviation", deviation, 0.0)
        self.seed = seed
        self.supports_masking = True

    def build(self, inputs_shape: Any = None) -> None:
        self.table = self.add_weight(
            name="table",
            shape=(self.vocabulary_size, self.hidden_dim),
            initializer=self._initial_table,
            # Rows are looked up in float32 and then cast: casting the whole table first would cost more.
            autocast=False,
        )
        self.bias = None
        if self.output_bias:
            shape = (self.vocabulary_size,)
            self.bias = self.add_weight(name="output_bias", shape=shape, initializer="zeros", autocast=False)

    def _initial_table(self, shape: tuple[int, int], dtype: str) -> Tensor:
        stddev = self.deviation * self.hidden_dim**-0.5
        normal = keras.initializers.RandomNormal(stddev=stddev, seed=child_seed(self.seed, "table"))
        is_padding = ops.equal(ops.arange(shape[0]), PAD_ID)[:, None]
        return ops.where(is_padding, ops.zeros((), dtype), normal(shape, dtype))

    def call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        if reverse:
            return self._logits(inputs)
        dtype = keras.backend.standardize_dtype(inputs.dtype)
        if "int" not in dtype and not _only_shapes_are_asked_for():
            raise TypeError(f"Token ids must be integers, never floats. Received: ids of dtype {dtype}")
        states = ops.take(self.table, ops.cast(inputs, "int32"), axis=0)
        if self.scale:
            states = states * math.sqrt(self.hidden_dim)
        return ops.cast(states, self.compute_dtype)

    def _logits(self, states: Tensor) -> Tensor:
        table = ops.cast(self.table, self.compute_dtype)
        logits = ops.cast(project(states, ops.transpose(table)), "float32")  # [..., V]
        return logits if self.bias is None else logits + self.bias

    def product_of_logits(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The two tensors whose product the logits are, for losses that never hold all logits at once.

        Args:
            states: Float tensor `[..., D]`.

        Returns:
            Tensors `[..., E]` and `[V, E]`: `states` and the table; with a bias, both one column wider.
        """
        if self.bias is None:
            return states, self.table
        ones = ops.ones_like(states[..., :1])
        table = ops.concatenate([self.table, self.bias[:, None]], axis=-1)
        return ops.concatenate([states, ones], axis=-1), table

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
            "scale": self.scale,
            "output_bias": self.output_bias,
            "deviation": self.deviation,
            "seed": self.seed,
        }


def _only_shapes_are_asked_for() -> bool:
    # To rebuild a user's model from a file, Keras calls it with placeholders of known shape; of their dtype
    # it knows nothing and says float32. Refusing those would leave the model without weights to load into.
    with keras.SymbolicScope() as scope:
        return scope.original_scope is not None
