"""The way of a text into an encoder: token ids to a sequence of vectors."""

import math
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
from tf_transformer.presets import SPECIAL_TOKENS, UNKNOWN_ID


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
        marked_ids: Ids of tokens that mark places of the text, such as the beginning of an entity.
        mark_distance: Positions from each mark up to which a vector tells how far it stands from the mark,
            and on which side; 0 for not at all.
        positions: This and `max_length`: see `PositionalEncoding`.
        dropout: Rate of the dropout on the sum of token and position, and on what the stem adds.
        token_dropout: Share of the tokens, special and marked ones excepted, that training replaces by the
            unknown one.
        seed: Seed of all dropouts and initial weights, or None to draw them.

    Call arguments:
        inputs: int32 tensor `[B, S]`, 0 at padding.

    Returns:
        Tensor `[B, S, D]` in the compute dtype.

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
        marked_ids: Sequence[int] = (),
        mark_distance: int = 0,
        positions: str = "sinusoidal",
        max_length: int | None = None,
        dropout: float = 0.0,
        token_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(
            vocabulary_size=vocabulary_size, hidden_dim=hidden_dim, embedding_dim=embedding_dim
        )
        check_rate(dropout=dropout, token_dropout=token_dropout)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.embedding_dim = embedding_dim
        self.convolutions = list(convolutions)
        self.marked_ids = list(marked_ids)
        self.mark_distance = mark_distance
        self.positions = positions
        self.max_length = max_length
        self.dropout = dropout
        self.token_dropout = token_dropout
        self.seed = seed
        self.supports_masking = True
        self._make_parts()
