"""The encoder-decoder Transformer: one forward path for training, decoding and looking inside."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tf_transformer.layers.attention_positions import MAX_DISTANCE
from tf_transformer.layers.decoder import Decoder
from tf_transformer.layers.encoder import Encoder
from tf_transformer.models.aligning import aligning
from tf_transformer.models.arguments import check_width, padded_ids, two_sides
from tf_transformer.models.sequence_model import SequenceModel
from tf_transformer.models.settings import TransformerSettings
from tf_transformer.ops import Tensor
from tf_transformer.ops.checks import check_same_sizes
from tf_transformer.ops.masks import causal_mask, padding_mask
from tf_transformer.presets import PAD_ID


@keras.saving.register_keras_serializable("tf_transformer")
class Transformer(SequenceModel):
    """The Transformer of "Attention Is All You Need" (Vaswani et al., 2017), from token ids to logits.

    `call` is `decode(target_ids, encode(source_ids))`. A search encodes once, calls `start_cache`, and then
    `step` for each position, through the very same layers. All weights exist once the model is constructed.
    Padding (id 0) stands at the end of a sequence; logits at padding are finite and mean nothing.

    Args:
        vocabulary_size: The number of tokens that source and target share; or give the next two.
        source_vocabulary_size: The number of source tokens, where the sides differ.
        target_vocabulary_size: The number V of target tokens, where the sides differ.
        source_embedding: A layer that makes vectors of a source that is none of tokens, in place of a table:
            a `PatchEmbedding` of pictures, say, or any other that a `Classifier` takes too. Only
            `target_vocabulary_size` is given then, and the source's inputs are those that the layer names.
        source_shape: The shape of one example of that layer's first input.
        num_layers: The number of encoder blocks, and of decoder blocks.
        hidden_dim: The width D; `num_heads` must divide it.
        intermediate_dim: The width in the middle of the feed-forward networks.
        num_heads: The number H of heads.
        num_key_value_heads: The number of heads of keys and values, which must divide that of the heads:
            fewer are grouped-query attention, 1 is multi-query attention (Ainslie et al., 2023); default H.
        decoder_num_layers: The number of decoder blocks, where it differs.
        decoder_hidden_dim: The width of the decoder, where it differs: cross-attention projects the memory.
        decoder_intermediate_dim: That of the decoder's feed-forward networks, where it differs.
        decoder_num_heads: The number of the decoder's heads, where it differs.
        share_layers: Whether one block stands at every depth of a stack (ALBERT; Lan et al., 2020).
        dropout: Rate of the dropout on embeddings and on what each part of a block adds.
        attention_dropout: Rate of the dropout on the attention weights.
        activation_dropout: Rate of the dropout inside the feed-forward networks.
        activation: `"relu"`, `"gelu"`, `"gelu_tanh"`, `"swish"` or `"swiglu"`.
        norm: `"post"`, `"pre"`, or `"deep"`: post-norm with the constants of DeepNorm, for many layers.
        norm_kind: `"layer"` or `"rms"` (Zhang and Sennrich, 2019).
        embedding_norm: Whether embeddings are normalised once their positions are added, as in BERT.
        positions: `"sinusoidal"`, `"timescale"`, `"learned"` or `"index"`, which are added to embeddings;
            `"relative"` (Shaw et al., 2018), `"rotary"` (Su et al., 2021) or `"alibi"` (Press et al., 2022),
            which belong to self-attention; or `"none"`. See `ops.positions`.
        max_length: The longest sequence that learned positions can hold; the other kinds have no limit.
        max_distance: The greatest distance that relative positions tell from greater ones.
        tie_embeddings: `"all"`: source, target and output share one table (needs one vocabulary);
            `"output"`: target and output share one; `"none"`: each has its own. By default `"all"` with one
            vocabulary and width, else `"output"`.
        output_bias: Whether each target token has a number that is added to its logits.
        epsilon: Added to the variance by the norms.
        seed: Seed of all dropouts and initial weights, or None to draw them (`keras.utils.set_random_seed`).

    Call arguments:
        inputs: A dict of int32 tensors: `source_ids` `[B, S]` and `target_ids` `[B, T]`, the latter beginning
            with the start token.

    Returns:
        Logits `[B, T, V]` in float32 of the token that follows each target position.

    Raises:
        ValueError: If sizes contradict each other, see the arguments; if ids are in no vocabulary (outside of
            a graph), or the sides have different numbers of sentences.
        TypeError: If a size is no whole number, or ids are not integers.

    Example:
        >>> import numpy as np
        >>> model = Transformer(
        ...     vocabulary_size=11, num_layers=2, hidden_dim=8, intermediate_dim=16, num_heads=2
        ... )
        >>> ids = np.array([[5, 7, 3, 0]])
        >>> tuple(model({"source_ids": ids, "target_ids": ids[:, :3]}).shape)
        (1, 3, 11)
    """

    settings: TransformerSettings
    COUNTS: tuple[str, ...] = ("target_tokens", "source_tokens", "target_positions", "source_positions")
    source_inputs: tuple[str, ...] = ("source_ids",)
    """The names of the source's entries in a batch."""

    def __init__(
        self,
        vocabulary_size: int | None = None,
        *,
        source_vocabulary_size: int | None = None,
        target_vocabulary_size: int | None = None,
        num_layers: int,
        hidden_dim: int,
        intermediate_dim: int,
        num_heads: int,
        num_key_value_heads: int | None = None,
        source_embedding: keras.layers.Layer | None = None,
        source_shape: Sequence[int | None] = (None,),
        decoder_num_layers: int | None = None,
        decoder_hidden_dim: int | None = None,
        decoder_intermediate_dim: int | None = None,
        decoder_num_heads: int | None = None,
        share_layers: bool = False,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation: str = "relu",
        norm: str = "post",
        norm_kind: str = "layer",
        embedding_norm: bool = False,
        positions: str = "sinusoidal",
        max_length: int | None = None,
        max_distance: int = MAX_DISTANCE,
        tie_embeddings: str | None = None,
        output_bias: bool = False,
        epsilon: float = 1e-5,
        seed: int | None = None,
        # A fixed name: with Keras' counted ones, the weights of a process' second model get other paths.
        name: str = "transformer",
        **kwargs: Any,
    ) -> None:
        settings = TransformerSettings(
            vocabulary_size=vocabulary_size,
            source_vocabulary_size=source_vocabulary_size,
            target_vocabulary_size=target_vocabulary_size,
            reads_vectors=source_embedding is not None,
            num_layers=num_layers,
            hidden_dim=hidden_dim,
            intermediate_dim=intermediate_dim,
            num_heads=num_heads,
            num_key_value_heads=num_key_value_heads,
            decoder_num_layers=decoder_num_layers,
            decoder_hidden_dim=decoder_hidden_dim,
            decoder_intermediate_dim=decoder_intermediate_dim,
            decoder_num_heads=decoder_num_heads,
            share_layers=share_layers,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            activation=activation,
            norm=norm,
            norm_kind=norm_kind,
            embedding_norm=embedding_norm,
            positions=positions,
            max_length=max_length,
            max_distance=max_distance,
            tie_embeddings=tie_embeddings,
            output_bias=output_bias,
            epsilon=epsilon,
            seed=seed,
        )
        super().__init__(settings, name=name, **kwargs)
        self.source_vocabulary_size, self.target_vocabulary_size = settings.sizes
        self._decoder_dim = settings.of_decoder("hidden_dim")
        self.source_shape = list(source_shape)
        if source_embedding is not None:
            check_width(source_embedding.hidden_dim, hidden_dim)
            self.source_inputs = source_embedding.inputs
            self.COUNTS = ("target_tokens", "target_positions", *source_embedding.COUNTS)
        self._make_embeddings(source_embedding)
        self._make_stacks()
        self.build()

    def _make_embeddings(self, source_embedding: keras.layers.Layer | None) -> None:
        width, sizes, tied = self.settings.hidden_dim, self.settings.sizes, self.settings.tie_embeddings
        bias = self.settings.output_bias
        if tied == "all":
            self.source_embedding = self._embedding("embedding", sizes[0], width, bias)
            self.target_embedding = self.output_embedding = self.source_embedding
        else:
            if source_embedding is None:
                source_embedding = self._embedding("source_embedding", sizes[0], width)
            self.source_embedding = source_embedding
            target = sizes[1], self._decoder_dim
            self.target_embedding = self._embedding("target_embedding", *target, bias and tied == "output")
            self.output_embedding = self.target_embedding
            if tied == "none":
                self.output_embedding = self._embedding("output_embedding", *target, bias)
        has_positions = not self.settings.reads_vectors
        self.source_positions: Any = self._positions("source_positions") if has_positions else None
        self.target_positions = self._positions("target_positions")

    def _make_stacks(self) -> None:
        encoder, decoder = self.settings.stack_keywords()
        self.encoder = Encoder(**encoder, **self._own("encoder"))
        self.decoder = Decoder(**decoder, **self._own("decoder"))

    def build(self, input_shape: Any = None) -> None:
        if self.built:
            return
        source_shape, target_shape = (None, None, self.settings.hidden_dim), (None, None, self._decoder_dim)
        if not self.source_embedding.built:
            self.source_embedding.build((None, *self.source_shape))
        for embedding in (self.target_embedding, self.output_embedding):
            if not embedding.built:
                embedding.build((None, None))
        if self.source_positions is not None:
            self.source_positions.build(source_shape)
        self.target_positions.build(target_shape)
        self.encoder.build(source_shape)
        self.decoder.build(target_shape, source_shape)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        source, target_ids = two_sides(inputs, self.source_inputs)
        return self.decode(target_ids, self._encode(source, training)[0], training)

    def encode(self, source: Tensor | Sequence[Tensor], training: bool | None = False) -> dict[str, Tensor]:
        """Reads sources.

        Args:
            source: int32 tensor `[B, S]` of ids, padded with 0 at the end; with a `source_embedding`, what
                that layer takes, in a list where it is more than one tensor.
            training: Whether to drop out.

        Returns:
            The memory: `states` `[B, S, D]` in the compute dtype and the boolean `mask` `[B, 1, 1, S]`.
        """
        several = self.settings.reads_vectors and isinstance(source, list | tuple)
        return self._encode(list(source) if several else [source], training)[0]

    def _encode(self, source: list[Tensor], training: bool | None) -> tuple[dict[str, Tensor], list[Tensor]]:
        states, mask = self._embed(source, training)
        states, weights, _ = self.encoder.forward(states, mask, training)
        if mask is None:  # the decoder is told of each source how far it goes
            batch, length = ops.shape(states)[:2]
            mask = ops.ones((batch, 1, 1, length), "bool")
        return {"states": states, "mask": mask}, weights

    def _embed(self, source: list[Tensor], training: bool | None) -> tuple[Tensor, Tensor | None]:
        """The vectors of a source and where they are real; None where all are."""
        if self.settings.reads_vectors:
            mask = self.source_embedding.padding_mask(*source)
            states = self.source_embedding(*source, training=training)
            return states, None if mask is None else mask[:, None, None]
        source_ids = padded_ids("source_ids", source[0], self.source_vocabulary_size)
        states = self.source_positions(self.source_embedding(source_ids), training=training)
        return states, padding_mask(source_ids)

    def decode(self, target_ids: Tensor, memory: dict[str, Tensor], training: bool | None = False) -> Tensor:
        """Scores, at each position of given target sentences, every token as the next one.

        Args:
            target_ids: int32 tensor `[B, T]` that begins with the start token, padded with 0 at the end.
            memory: What `encode` returned.
            training: Whether to drop out.

        Returns:
            Logits `[B, T, V]` in float32.
        """
        return self.output_embedding(self._decode(target_ids, memory, training)[0], reverse=True)

    def decode_attending(self, target_ids: Tensor, memory: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """What `decode` returns, and where each position looks in the source.

        Returns:
            Logits `[B, T, V]`, and the attention float32 `[B, T, S]` by which targets are aligned with
            sources, see `aligning`; each row sums to 1.
        """
        states, weights = self._decode(target_ids, memory, training=False)
        return self.output_embedding(states, reverse=True), aligning(weights)

    def counts(self, inputs: dict[str, Tensor], labels: Tensor) -> dict[str, Tensor]:
        """What a batch holds; `COUNTS` names it.

        Args:
            inputs: As for `call`.
            labels: Integer tensor `[B, T]`, 0 where a position does not count.

        Returns:
            Integer scalars: real tokens and all positions of both sides. The first is what the losses of a
            batch are divided by.
        """
        source, _ = two_sides(inputs, self.source_inputs)
        found = {
            "target_tokens": ops.sum(ops.cast(ops.not_equal(labels, PAD_ID), "int32")),
            "target_positions": ops.size(labels),
        }
        if self.source_inputs != ("source_ids",):
            return {**found, **self.source_embedding.counts(*source)}
        found["source_tokens"] = ops.sum(ops.cast(ops.not_equal(source[0], PAD_ID), "int32"))
        found["source_positions"] = ops.size(source[0])
        return {name: found[name] for name in self.COUNTS}

    def _scored_states(self, inputs: dict[str, Tensor], training: bool | None) -> tuple[Tensor, Tensor]:
        source, target_ids = two_sides(inputs, self.source_inputs)
        states, _ = self._decode(target_ids, self._encode(source, training)[0], training)
        return self.output_embedding.product_of_logits(states)

    def _decode(
        self, target_ids: Tensor, memory: dict[str, Tensor], training: bool | None
    ) -> tuple[Tensor, list[dict[str, Tensor]]]:
        target_ids = padded_ids("target_ids", target_ids, self.target_vocabulary_size)
        # One source would otherwise be taken for that of every target.
        check_same_sizes(
            "The batches of sources and targets", memory["states"].shape[:1], target_ids.shape[:1]
        )
        states = self.target_positions(self.target_embedding(target_ids), training=training)
        states, weights, _ = self.decoder.forward(
            states,
            self.decoder.project_memory(memory["states"]),
            # Padding stands at the end, where causality hides it from every real token.
            causal_mask(ops.shape(target_ids)[1]),
            memory["mask"],
            training=training,
        )
        return states, weights

    def start_cache(self, memory: dict[str, Tensor], num_hypotheses: int | Tensor = 1) -> dict[str, Any]:
        """Prepares step-by-step decoding of K hypotheses a sentence.

        Args:
            memory: What `encode` returned.
            num_hypotheses: The number K, an integer or an integer scalar tensor.

        Returns:
            The cache: `hypotheses`, whose tensors `[B, K, G, t, d]` grow along axis -2 from t = 0 and are to
            be reordered along K as hypotheses are, and `shared`, whose tensors belong to a sentence and stay.
        """
        states = memory["states"]
        return {
            "hypotheses": self.decoder.empty_cache(ops.shape(states)[0], num_hypotheses),
            "shared": {"memory_heads": self.decoder.project_memory(states), "mask": memory["mask"]},
        }

    def step(self, ids: Tensor, cache: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """Takes one more token of each hypothesis; equal to `decode` at that position.

        Args:
            ids: int32 tensor `[B, K]`, the newest token of each hypothesis; at first the start token.
            cache: What `start_cache` or the step before returned.

        Returns:
            Logits `[B, K, V]` in float32 of the token after `ids`, and the cache with `ids` taken in.
        """
        states, _, cache = self._step(ids, cache)
        return self.output_embedding(states, reverse=True), cache

    def attending_step(self, ids: Tensor, cache: dict[str, Any]) -> tuple[Tensor, Tensor, dict[str, Any]]:
        """The same with, between logits and cache, the attention `[B, K, S]` as of `decode_attending`."""
        states, weights, cache = self._step(ids, cache)
        return self.output_embedding(states, reverse=True), aligning(weights), cache

    def _step(
        self, ids: Tensor, cache: dict[str, Any]
    ) -> tuple[Tensor, list[dict[str, Tensor]], dict[str, Any]]:
        ids = padded_ids("ids", ids, self.target_vocabulary_size)
        past, shared = cache["hypotheses"], cache["shared"]
        position = ops.shape(past[0]["key"])[-2]
        # To the encoding, the hypotheses, all at one position, are B*K sequences of length 1.
        embedded = ops.reshape(self.target_embedding(ids), (-1, 1, self._decoder_dim))
        placed = self.target_positions(embedded, start=position, training=False)
        states, weights, past = self.decoder.forward(
            ops.reshape(placed, (*ops.shape(ids), self._decoder_dim)),
            shared["memory_heads"],
            None,
            shared["mask"],
            cache=past,
            training=False,
        )
        return states, weights, {"hypotheses": past, "shared": shared}

    def attention(self, inputs: dict[str, Tensor]) -> dict[str, list[Tensor]]:
        """The attention weights behind `call(inputs, training=False)`.

        Args:
            inputs: As for `call`.

        Returns:
            Float32 tensors, one a block: `encoder` `[B, H, S, S]`, `decoder` `[B, H, T, T]` (of its
            self-attention) and `cross` `[B, H, T, S]`; each row sums to 1.
        """
        source, target_ids = two_sides(inputs, self.source_inputs)
        memory, encoder_weights = self._encode(source, training=False)
        _, weights = self._decode(target_ids, memory, training=False)
        return {
            "encoder": encoder_weights,
            "decoder": [block["self"] for block in weights],
            "cross": [block["cross"] for block in weights],
        }

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if config.pop("reads_vectors"):
            layer = keras.saving.serialize_keras_object(self.source_embedding)
            config |= {"source_embedding": layer, "source_shape": self.source_shape}
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Transformer":
        layer = keras.saving.deserialize_keras_object(config.get("source_embedding"))
        return cls(**{**config, "source_embedding": layer})
