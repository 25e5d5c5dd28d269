"""The way of a text into an encoder: token ids to a sequence of vectors."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_positive, check_rate, child_seed
from tf_transformer.layers.convolution import ConvolutionalStem
from tf_transformer.layers.embedding import TokenEmbedding
from tf_transformer.layers.positional_encoding import PositionalEncoding
from tf_transformer.ops import Tensor
from tf_transformer.ops.attention import project
from tf_transformer.ops.checks import check_ids
from tf_transformer.presets import PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID


@keras.saving.register_keras_serializable("tf_transformer")
class TextEmbedding(keras.layers.Layer):
    """Token ids to vectors that an encoder can read: a table, positions, and what else the text calls for.

    What `Classifier` asks of the layer before its encoder: `inputs` names the entries of a batch that `call`
    takes, one argument each; `padding_mask`, `marks` and `counts` take the same arguments.

    Args:
        vocabulary_size: The number V of tokens.
        hidden_dim: The width D of the vectors.
        embedding_dim: The width of the table, where it differs from D; its rows are then projected.
        convolutions: Widths of a `ConvolutionalStem`; none by default.
        filters: Features of each of its convolutions; by default D.
        marked_ids: Ids of tokens that mark places of the text, such as the beginning of an entity.
        mark_distance: Positions from each mark up to which a vector tells how far it stands from the mark,
            and on which side; 0 for not at all.
        deviation: That of the vectors of tokens, and of distances, at the beginning.
        positions: This, `max_length` and `norm_kind`: see `PositionalEncoding`.
        dropout: Rate of the dropout on the sum of token and position, and on what the stem adds.
        token_dropout: Share of the tokens, special and marked ones excepted, that training replaces by the
            unknown one.
        seed: Seed of all dropouts and initial weights, or None to draw them.

    Call arguments:
        inputs: int32 tensor `[B, S]`, 0 at padding.
        return_features: Whether the features of the stem are returned too.

    Returns:
        Tensor `[B, S, D]` in the compute dtype, or the pair of it and of `[B, S, num_features]`.

    Example:
        >>> import numpy as np
        >>> embedding = TextEmbedding(vocabulary_size=11, hidden_dim=4, convolutions=[3])
        >>> tuple(embedding(np.array([[5, 7, 0]])).shape)
        (1, 3, 4)
    """

    inputs = ("source_ids",)
    COUNTS = ("source_tokens", "source_positions")

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        embedding_dim: int | None = None,
        convolutions: Sequence[int] = (),
        filters: int | None = None,
        marked_ids: Sequence[int] = (),
        mark_distance: int = 0,
        deviation: float = 1.0,
        positions: str = "sinusoidal",
        max_length: int | None = None,
        norm_kind: str | None = None,
        dropout: float = 0.0,
        token_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(vocabulary_size=vocabulary_size, hidden_dim=hidden_dim, embedding_dim=embedding_dim)
        check_positive(filters=filters)
        check_rate(dropout=dropout, token_dropout=token_dropout)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.embedding_dim = embedding_dim
        self.convolutions = list(convolutions)
        self.filters = filters
        self.marked_ids = list(marked_ids)
        self.mark_distance = mark_distance
        self.deviation = deviation
        self.positions = positions
        self.max_length = max_length
        self.norm_kind = norm_kind
        self.dropout = dropout
        self.token_dropout = token_dropout
        self.seed = seed
        self.supports_masking = True
        self._make_parts()

    def _make_parts(self) -> None:
        common: dict[str, Any] = {"dtype": self.dtype_policy}
        width = self.embedding_dim or self.hidden_dim
        self.tokens = self._table(self.vocabulary_size, width, "tokens", "token_embedding")
        self._distances = [
            self._table(2 * self.mark_distance + 1, self.hidden_dim, name, name)
            for name in (
                f"distance_{number}" for number in range(self.num_marks if self.mark_distance else 0)
            )
        ]
        self._stem = None
        if self.convolutions:
            self._stem = ConvolutionalStem(
                self.convolutions,
                filters=self.filters,
                dropout=self.dropout,
                seed=child_seed(self.seed, "stem"),
                name="stem",
                **common,
            )
        self.place = PositionalEncoding(
            self.positions,
            max_length=self.max_length,
            norm_kind=self.norm_kind,
            dropout=self.dropout,
            seed=child_seed(self.seed, "positions"),
            name="positions",
            **common,
        )

    def _table(self, rows: int, width: int, seed: str, name: str) -> TokenEmbedding:
        return TokenEmbedding(
            rows,
            width,
            deviation=self.deviation,
            seed=child_seed(self.seed, seed),
            dtype=self.dtype_policy,
            name=name,
        )

    @property
    def num_features(self) -> int:
        """The width of the stem's features; 0 without a stem."""
        return len(self.convolutions) * (self.filters or self.hidden_dim)

    @property
    def num_marks(self) -> int:
        """How many kinds of marked places there are."""
        return len(self.marked_ids)

    def build(self, inputs_shape: Any = None) -> None:
        states_shape = (None, None, self.hidden_dim)
        self.tokens.build()
        for distances in self._distances:
            distances.build()
        self.kernel = None
        if self.embedding_dim not in (None, self.hidden_dim):
            xavier = keras.initializers.GlorotUniform(seed=child_seed(self.seed, "kernel"))
            shape = (self.embedding_dim, self.hidden_dim)
            self.kernel = self.add_weight(name="kernel", shape=shape, initializer=xavier, autocast=False)
        if self._stem is not None:
            self._stem.build(states_shape)
        self.place.build(states_shape)
        if self.token_dropout:
            self.seed_generator = keras.random.SeedGenerator(
                child_seed(self.seed, "token_dropout"), name="seed_generator"
            )

    def call(self, inputs: Tensor, training: bool | None = None, return_features: bool = False) -> Any:
        check_ids("source_ids", inputs, self.vocabulary_size)
        states = self.tokens(self._dropped(inputs) if training and self.token_dropout else inputs)
        if self.kernel is not None:
            states = project(states, ops.cast(self.kernel, self.compute_dtype))
        if self._distances:
            states = states + self._distance_vectors(inputs)
        features = None
        if self._stem is not None:
            states, features = self._stem(
                states, padding_mask=self.padding_mask(inputs), training=training, return_features=True
            )
        states = self.place(states, training=training)
        return (states, features) if return_features else states

    def _dropped(self, ids: Tensor) -> Tensor:
        chance = keras.random.uniform(ops.shape(ids), seed=self.seed_generator)
        ordinary = ops.greater_equal(ids, len(SPECIAL_TOKENS))
        for marked in self.marked_ids:
            ordinary = ops.logical_and(ordinary, ops.not_equal(ids, marked))
        dropped = ops.logical_and(ordinary, chance < self.token_dropout)
        return ops.where(dropped, ops.cast(UNKNOWN_ID, ids.dtype), ids)

    def _distance_vectors(self, ids: Tensor) -> Tensor:
        """What tells how far each position stands from the first place of each mark: `[B, S, D]`."""
        most = self.mark_distance
        positions = ops.arange(ops.shape(ids)[1], dtype="int32")[None, :]  # [1, S]
        total = 0.0
        for marked, table in zip(self.marked_ids, self._distances, strict=True):
            place = ops.argmax(ops.equal(ids, marked), axis=-1)  # [B]
            distance = positions - ops.cast(place, "int32")[:, None]  # [B, S]
            total = total + table(ops.clip(distance, -most, most) + most)
        return total

    def padding_mask(self, inputs: Tensor) -> Tensor:
        """Boolean `[B, S]`, True at real tokens."""
        return ops.not_equal(inputs, PAD_ID)

    def marks(self, inputs: Tensor) -> Tensor:
        """Which marked token stands at each place: int32 `[B, S]`, from 1 in the order given, else 0."""
        marks = ops.zeros_like(inputs, dtype="int32")
        for number, marked in enumerate(self.marked_ids, start=1):
            marks = ops.where(ops.equal(inputs, marked), number, marks)
        return marks

    def counts(self, inputs: Tensor) -> dict[str, Tensor]:
        """The real tokens of a batch and all its positions: integer scalars."""
        return {
            "source_tokens": ops.sum(ops.cast(self.padding_mask(inputs), "int32")),
            "source_positions": ops.size(inputs),
        }

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
            "embedding_dim": self.embedding_dim,
            "convolutions": self.convolutions,
            "filters": self.filters,
            "marked_ids": self.marked_ids,
            "mark_distance": self.mark_distance,
            "deviation": self.deviation,
            "positions": self.positions,
            "max_length": self.max_length,
            "norm_kind": self.norm_kind,
            "dropout": self.dropout,
            "token_dropout": self.token_dropout,
            "seed": self.seed,
        }
