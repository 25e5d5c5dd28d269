"""What tells the model where in the sequence a vector stands."""

from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_choice, check_positive, check_rate, child_seed
from tf_transformer.layers.dropout import Dropout
from tf_transformer.layers.residual import make_norm
from tf_transformer.ops import Tensor
from tf_transformer.ops.positions import (
    POSITION_KINDS,
    index_positions,
    sinusoidal_positions,
    timescale_positions,
)

_FORMULAS = {
    "sinusoidal": sinusoidal_positions,
    "timescale": timescale_positions,
    "index": index_positions,
}
_ADDED = (*_FORMULAS, "learned")


@keras.saving.register_keras_serializable("tf_transformer")
class PositionalEncoding(keras.layers.Layer):
    """Adds to each vector an encoding of its position, normalises where asked to, then drops out.

    Args:
        kind: `"sinusoidal"`, `"timescale"` and `"index"` (any length, no weights; see `ops.positions`),
            `"learned"` (a trained vector for each of `max_length` positions) or `"none"` (adds nothing). For
            `"relative"`, `"rotary"` and `"alibi"` nothing is added either: they belong to attention.
        max_length: The number of positions that `"learned"` holds; the other kinds have no limit and
            ignore it.
        dropout: Rate of the dropout on the sum.
        norm_kind: `"layer"` or `"rms"`: a norm of the sum, as BERT has it; None for none.
        epsilon: Added to the variance by that norm.
        seed: Seed of the dropout and of learned positions, or None to draw one.

    Call arguments:
        inputs: Float tensor `[B, T, D]`.
        start: Position of the first vector, an integer or an integer scalar tensor.

    Returns:
        Tensor `[B, T, D]` in the compute dtype; the sum itself is taken in float32.

    Raises:
        ValueError: If a sequence is longer than `max_length` learned positions. Where the length is only
            known inside a compiled graph, the backend's own error stops the run.

    Example:
        >>> import numpy as np
        >>> encoding = PositionalEncoding("sinusoidal")
        >>> ops.convert_to_numpy(encoding(np.zeros((1, 1, 4), "float32")))[0, 0].tolist()
        [0.0, 1.0, 0.0, 1.0]
    """

    def __init__(
        self,
        kind: str = "sinusoidal",
        max_length: int | None = None,
        dropout: float = 0.0,
        norm_kind: str | None = None,
        epsilon: float = 1e-5,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice(POSITION_KINDS, kind=kind)
        check_positive(max_length=max_length)
        check_rate(dropout=dropout)
        if kind == "learned" and max_length is None:
            raise ValueError("Learned positions need the argument `max_length`. Received: max_length=None")
        self.kind = kind
        self.max_length = max_length
        self.dropout = dropout
        self.norm_kind = norm_kind
        self.epsilon = epsilon
        self.seed = seed
        self.supports_masking = True
        self._norm = None if norm_kind is None else make_norm(norm_kind, epsilon, self.dtype_policy, "norm")
        self._dropout = Dropout(
            dropout, seed=child_seed(seed, "dropout"), dtype=self.dtype_policy, name="dropout"
        )

    def build(self, inputs_shape: Any) -> None:
        self._dropout.build()
        if self._norm is not None:
            self._norm.build(inputs_shape)
        self._hidden_dim = int(inputs_shape[-1])
        if self.kind == "learned":
            stddev, seed = self._hidden_dim**-0.5, child_seed(self.seed, "table")
            self.table = self.add_weight(
                name="table",
                shape=(self.max_length, self._hidden_dim),
                initializer=keras.initializers.RandomNormal(stddev=stddev, seed=seed),
                autocast=False,
            )

    def call(self, inputs: Tensor, start: int | Tensor = 0, training: bool | None = None) -> Tensor:
        outputs = inputs
        if self.kind in _ADDED:
            encoding = self._encode(start, ops.shape(inputs)[1])  # [T, D] float32
            outputs = ops.cast(ops.cast(inputs, "float32") + encoding, self.compute_dtype)
        if self._norm is not None:
            outputs = self._norm(outputs)
        return self._dropout(outputs, training=training)

    def _encode(self, start: int | Tensor, length: int | Tensor) -> Tensor:
        if self.kind != "learned":
            return _FORMULAS[self.kind](start + ops.arange(length), self._hidden_dim)
        if isinstance(start, int) and isinstance(length, int):
            self._check_length(start + length)
        if isinstance(start, int):
            # A slice that leaves the table is an error on every device; a lookup returns zeros on a GPU.
            return ops.slice(self.table, (start, 0), (length, self._hidden_dim))
        # While decoding, the position is a tensor: a lookup, since XLA cannot slice at a loop's counter.
        # Where the backend does not refuse a position beyond the table, NaN is what no one overlooks.
        positions = start + ops.arange(length)
        rows = ops.take(self.table, positions, axis=0)
        return ops.where((positions < self.max_length)[:, None], rows, float("nan"))

    def encodings(self, length: int) -> Tensor | None:
        """What is added at the first positions.

        Args:
            length: How many; fewer where there are no more learned ones.

        Returns:
            Float32 `[length, D]`; None where nothing is added.
        """
        if self.kind not in _ADDED:
            return None
        most = self.max_length if self.kind == "learned" else None
        return self._encode(0, length if most is None else min(length, most))

    def _check_length(self, length: int) -> None:
        if self.max_length is not None and length > self.max_length:
            raise ValueError(
                "A sequence must not be longer than the `max_length` of its learned positions. "
                f"Received: length={length}, max_length={self.max_length}"
            )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "kind": self.kind,
            "max_length": self.max_length,
            "dropout": self.dropout,
            "norm_kind": self.norm_kind,
            "epsilon": self.epsilon,
            "seed": self.seed,
        }
