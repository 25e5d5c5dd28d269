"""What models of ids are made of, checked once: their sizes and variants, and what each part gets of them."""

from dataclasses import dataclass
from typing import Any

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.layers.arguments import check_choice
from tf_transformer.layers.attention_positions import MAX_DISTANCE
from tf_transformer.layers.residual import NORM_KINDS
from tf_transformer.models.arguments import chosen_ties, target_size_alone, vocabulary_sizes
from tf_transformer.models.deep_norm import deep_norm, deep_norm_alone
from tf_transformer.ops.positions import POSITION_KINDS

_SIZES = ("num_layers", "hidden_dim", "intermediate_dim", "num_heads")
_OF_A_STACK = (
    *("num_key_value_heads", "share_layers", "dropout", "attention_dropout", "activation_dropout"),
    *("activation", "norm_kind", "positions", "max_distance", "epsilon"),
)


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The arguments that all models of ids have, as plain values; `Transformer` explains them."""

    num_layers: int
    hidden_dim: int
    intermediate_dim: int
    num_heads: int
    num_key_value_heads: int | None = None
    share_layers: bool = False
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: str = "relu"
    norm: str = "post"
    norm_kind: str = "layer"
    embedding_norm: bool = False
    positions: str = "sinusoidal"
    max_length: int | None = None
    max_distance: int = MAX_DISTANCE
    epsilon: float = 1e-5
    seed: int | None = None

    def __post_init__(self) -> None:
        for name in (*_SIZES, "max_distance"):
            self._set(name, whole_number(name, getattr(self, name), 1))
        for name, least in (("num_key_value_heads", 1), ("max_length", 1), ("seed", 0)):
            self._set_if_given(name, least)
        self._set("epsilon", finite_number("epsilon", self.epsilon, 0.0))
        check_choice(("post", "pre", "deep"), norm=self.norm)
        check_choice(NORM_KINDS, norm_kind=self.norm_kind)
        check_choice(POSITION_KINDS, positions=self.positions)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _set_if_given(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if value is not None:
            self._set(name, whole_number(name, value, least))

    def position_keywords(self) -> dict[str, Any]:
        """What `PositionalEncoding` gets, but for its name and seed."""
        return {
            "kind": self.positions,
            "max_length": self.max_length,
            "dropout": self.dropout,
            "norm_kind": self.norm_kind if self.embedding_norm else None,
            "epsilon": self.epsilon,
        }

    def stack_of(self, **sizes: int) -> dict[str, Any]:
        """What a stack of such sizes gets, but for its name, its seed and the constants of DeepNorm."""
        both: dict[str, Any] = {name: getattr(self, name) for name in _OF_A_STACK}
        return both | {"norm": "post" if self.norm == "deep" else self.norm} | sizes


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings(ModelSettings):
    """The arguments of `LanguageModel`, as plain values."""

    vocabulary_size: int
    norm: str = "pre"
    tie_embeddings: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("vocabulary_size", whole_number("vocabulary_size", self.vocabulary_size, 1))
        if not isinstance(self.tie_embeddings, bool):
            raise TypeError(f"`tie_embeddings` must be True or False. Received: {self.tie_embeddings!r}")

    def stack_keywords(self) -> dict[str, Any]:
        """What the stack gets, but for its name and seed."""
        sizes = {name: getattr(self, name) for name in ("num_layers", "num_heads", "intermediate_dim")}
        return self.stack_of(**sizes) | (deep_norm_alone(self.num_layers) if self.norm == "deep" else {})


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(ModelSettings):
    """The arguments of `Transformer`, which explains them, as plain values."""

    vocabulary_size: int | None = None
    source_vocabulary_size: int | None = None
    target_vocabulary_size: int | None = None
    reads_vectors: bool = False
    decoder_num_layers: int | None = None
    decoder_hidden_dim: int | None = None
    decoder_intermediate_dim: int | None = None
    decoder_num_heads: int | None = None
    tie_embeddings: str | None = None
    output_bias: bool = False

    def __post_init__(self) -> None:
        source, target = self.sizes
        shared = self.vocabulary_size is not None
        self._set("vocabulary_size", source if shared else None)
        self._set("source_vocabulary_size", None if shared else source)
        self._set("target_vocabulary_size", None if shared else target)
        super().__post_init__()
        for size in _SIZES:
            self._set_if_given(f"decoder_{size}", 1)
        if not isinstance(self.output_bias, bool):
            raise TypeError(f"`output_bias` must be True or False. Received: {self.output_bias!r}")
        widths = self.hidden_dim, self.of_decoder("hidden_dim")
        self._set("tie_embeddings", chosen_ties(self.tie_embeddings, shared, widths))

    @property
    def sizes(self) -> tuple[Any, int]:
        """How many source and target tokens there are; None for a source that is none of tokens."""
        if self.reads_vectors:
            return None, target_size_alone(
                self.vocabulary_size, self.source_vocabulary_size, self.target_vocabulary_size
            )
        return vocabulary_sizes(
            self.vocabulary_size, self.source_vocabulary_size, self.target_vocabulary_size
        )

    def of_decoder(self, size: str) -> int:
        """One of the four sizes of the decoder: its own, or that of the encoder."""
        own: int | None = getattr(self, f"decoder_{size}")
        shared: int = getattr(self, size)
        return own or shared

    def stack_keywords(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What `Encoder` and `Decoder` get, but for their names and seeds."""
        inner = ("num_layers", "num_heads", "intermediate_dim")
        encoder = self.stack_of(**{size: getattr(self, size) for size in inner})
        decoder = self.stack_of(**{size: self.of_decoder(size) for size in inner})
        if self.norm == "deep":
            scales = deep_norm(encoder["num_layers"], decoder["num_layers"])
            return encoder | scales[0], decoder | scales[1]
        return encoder, decoder
