"""The decoder-only Transformer: one forward path for training, generating and looking inside."""

from dataclasses import fields
from typing import Any

import keras
from keras import ops

from tf_transformer.layers.encoder import Encoder
from tf_transformer.models.arguments import one_side, padded_ids
from tf_transformer.models.sequence_model import SequenceModel
from tf_transformer.models.settings import LanguageModelSettings
from tf_transformer.ops import Tensor
from tf_transformer.ops.masks import causal_mask
from tf_transformer.presets import PAD_ID


@keras.saving.register_keras_serializable("tf_transformer")
class LanguageModel(SequenceModel):
    """A Transformer that predicts each token of a text from those before it.

    The blocks are those of `Transformer`, under a causal mask and without cross-attention ("Improving
    Language Understanding by Generative Pre-Training", Radford et al., 2018). `step` and `read` go through
    the very same layers as `call`. All weights exist once the model is constructed. Padding (id 0) stands at
    the end of a text; logits at padding are finite and mean nothing.

    Args:
        vocabulary_size: The number V of tokens.
        num_layers: The number of blocks.
        hidden_dim: The width D; `num_heads` must divide it.
        intermediate_dim: The width in the middle of the feed-forward networks.
        num_heads: The number H of heads.
        dropout: Rate of the dropout on embeddings and on what each part of a block adds.
        norm: `"pre"`, `"post"`, or `"deep"`: post-norm with the constants of DeepNorm, for many layers.
        positions: See `Transformer`.
        max_length: The longest text that learned positions can hold; the other kinds have no limit.
        tie_embeddings: Whether inputs and outputs share one table.
        seed: Seed of all dropouts and initial weights, or None to draw them (`keras.utils.set_random_seed`).
        **keywords: The further ones of `Transformer`, but for those of one side: `num_key_value_heads`,
            `share_layers`, `attention_dropout`, `activation_dropout`, `activation`, `norm_kind`,
            `embedding_norm`, `max_distance`, `epsilon`; and those of every Keras model.

    Call arguments:
        inputs: A dict with the int32 tensor `target_ids` `[B, T]`, each row beginning with the start token.

    Returns:
        Logits `[B, T, V]` in float32 of the token that follows each position.

    Raises:
        ValueError: If sizes contradict each other, see the arguments; if ids are in no vocabulary (outside of
            a graph).
        TypeError: If a size is no whole number, or ids are not integers.

    Example:
        >>> import numpy as np
        >>> model = LanguageModel(11, num_layers=2, hidden_dim=8, intermediate_dim=16, num_heads=2)
        >>> tuple(model({"target_ids": np.array([[2, 5, 7, 0]])}).shape)
        (1, 4, 11)
    """

    settings: LanguageModelSettings
    COUNTS = ("target_tokens", "target_positions")

    def __init__(
        self,
        vocabulary_size: int,
        *,
        num_layers: int,
        hidden_dim: int,
        intermediate_dim: int,
        num_heads: int,
        dropout: float = 0.1,
        norm: str = "pre",
        positions: str = "sinusoidal",
        max_length: int | None = None,
        tie_embeddings: bool = True,
        seed: int | None = None,
        # A fixed name: with Keras' counted ones, the weights of a process' second model get other paths.
        name: str = "language_model",
        **keywords: Any,
    ) -> None:
        further = {field.name for field in fields(LanguageModelSettings)} & set(keywords)
        settings = LanguageModelSettings(
            vocabulary_size=vocabulary_size,
            num_layers=num_layers,
            hidden_dim=hidden_dim,
            intermediate_dim=intermediate_dim,
            num_heads=num_heads,
            dropout=dropout,
            norm=norm,
            positions=positions,
            max_length=max_length,
            tie_embeddings=tie_embeddings,
            seed=seed,
            **{field: keywords.pop(field) for field in further},
        )
        super().__init__(settings, name=name, **keywords)
        self.vocabulary_size = settings.vocabulary_size
        self.embedding = self.output_embedding = self._embedding(
            "embedding", self.vocabulary_size, settings.hidden_dim
        )
        if not settings.tie_embeddings:
            self.output_embedding = self._embedding(
                "output_embedding", self.vocabulary_size, settings.hidden_dim
            )
        self.target_positions = self._positions("positions")
        self.stack = Encoder(**settings.stack_keywords(), **self._own("stack"))
        self.build()

    def build(self, input_shape: Any = None) -> None:
        if self.built:
            return
        states_shape = (None, None, self.settings.hidden_dim)
        for embedding in (self.embedding, self.output_embedding):
            if not embedding.built:
                embedding.build((None, None))
        self.target_positions.build(states_shape)
        self.stack.build(states_shape)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        return self.output_embedding(self._forward(inputs, training)[0], reverse=True)

    def _forward(self, inputs: dict[str, Tensor], training: bool | None) -> tuple[Tensor, list[Tensor]]:
        """The states `[B, T, D]` before the output table, and each block's attention weights."""
        ids = padded_ids("target_ids", one_side(inputs, "target_ids"), self.vocabulary_size)
        states = self.target_positions(self.embedding(ids), training=training)
        # Padding stands at the end, where causality hides it from every real token.
        states, weights, _ = self.stack.forward(states, causal_mask(ops.shape(ids)[1]), training)
        return states, weights

    def _scored_states(self, inputs: dict[str, Tensor], training: bool | None) -> tuple[Tensor, Tensor]:
        return self._forward(inputs, training)[0], self.output_embedding.table

    def counts(self, inputs: dict[str, Tensor], labels: Tensor) -> dict[str, Tensor]:
        """What a batch holds; `COUNTS` names it.

        Args:
            inputs: As for `call`.
            labels: Integer tensor `[B, T]`, 0 where a position does not count.

        Returns:
            Integer scalars: labels that count, and all positions. The first is what the losses of a batch are
            divided by.
        """
        return {
            "target_tokens": ops.sum(ops.cast(ops.not_equal(labels, PAD_ID), "int32")),
            "target_positions": ops.size(labels),
        }

    def start_cache(self, batch_size: int | Tensor, num_hypotheses: int | Tensor = 1) -> dict[str, Any]:
        """Prepares reading K texts for each of B.

        Args:
            batch_size: The number B, an integer or an integer scalar tensor.
            num_hypotheses: The number K, likewise.

        Returns:
            The cache: `hypotheses`, whose tensors `[B, K, G, t, d]` grow along axis -2 from t = 0 and are to
            be reordered along K as hypotheses are, and `shared`, which holds nothing.
        """
        return {"hypotheses": self.stack.empty_cache(batch_size, num_hypotheses), "shared": {}}

    def read(self, ids: Tensor, cache: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """Takes several more tokens of each text at once; equal to `call` at their positions.

        Args:
            ids: int32 tensor `[B, K, T]`, the next tokens of each text; the very first is the start token.
            cache: What `start_cache`, `read` or `step` returned.

        Returns:
            Logits `[B, K, V]` in float32 of the token after the last of `ids`, and the cache with `ids` taken
            in.
        """
        ids, past = ops.convert_to_tensor(ids), cache["hypotheses"]
        size, length = ops.shape(ids)[:-1], ops.shape(ids)[-1]
        start = ops.shape(past[0]["key"])[-2]
        # To embedding and positions, the texts, all at one position, are B*K sequences.
        rows = padded_ids("ids", ops.reshape(ids, (-1, length)), self.vocabulary_size)
        placed = self.target_positions(self.embedding(rows), start=start, training=False)
        # A single new position comes after all that there is: nothing needs masking.
        mask = None if ids.shape[-1] == 1 else causal_mask(length, start)
        states, _, past = self.stack.forward(
            ops.reshape(placed, (*size, length, self.settings.hidden_dim)), mask, False, past
        )
        return self.output_embedding(states[..., -1, :], reverse=True), {**cache, "hypotheses": past}

    def step(self, ids: Tensor, cache: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """`read` of one token each: ids int32 `[B, K]`, to logits `[B, K, V]` and the grown cache."""
        return self.read(ops.expand_dims(ids, -1), cache)

    def attention(self, inputs: dict[str, Tensor]) -> dict[str, list[Tensor]]:
        """The attention weights behind `call(inputs, training=False)`.

        Args:
            inputs: As for `call`.

        Returns:
            `decoder`: a float32 tensor `[B, H, T, T]` for each block; each row sums to 1.
        """
        return {"decoder": self._forward(inputs, training=False)[1]}
