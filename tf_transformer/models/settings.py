"""What a Transformer is made of, checked once: its sizes and variants, and what each side gets of them."""

from dataclasses import dataclass
from typing import Any

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.layers.arguments import check_choice
from tf_transformer.layers.attention_positions import MAX_DISTANCE
from tf_transformer.layers.residual import NORM_KINDS
from tf_transformer.models.arguments import chosen_ties, vocabulary_sizes
from tf_transformer.models.deep_norm import deep_norm
from tf_transformer.ops.positions import POSITION_KINDS

_SIZES = ("num_layers", "hidden_dim", "intermediate_dim", "num_heads")
_LEAST = {"num_key_value_heads": 1, **{f"decoder_{size}": 1 for size in _SIZES}, "max_length": 1, "seed": 0}
"""Whole numbers that may be left out, and how small they may be."""
_OF_BOTH_STACKS = (
    *("num_key_value_heads", "share_layers", "dropout", "attention_dropout", "activation_dropout"),
    *("activation", "norm_kind", "positions", "max_distance", "epsilon"),
)


@dataclass(frozen=True)
class TransformerSettings:
    """The arguments of `Transformer`, which explains them, as plain values; made by `checked`."""

    vocabulary_size: int | None
    source_vocabulary_size: int | None
    target_vocabulary_size: int | None
    num_layers: int
    hidden_dim: int
    intermediate_dim: int
    num_heads: int
    num_key_value_heads: int | None = None
    decoder_num_layers: int | None = None
    decoder_hidden_dim: int | None = None
    decoder_intermediate_dim: int | None = None
    decoder_num_heads: int | None = None
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
    tie_embeddings: str | None = None
    epsilon: float = 1e-5
    seed: int | None = None

    @classmethod
    def checked(cls, **given: Any) -> "TransformerSettings":
        """The settings that arguments mean.

        Raises:
            TypeError: If a size is no whole number.
            ValueError: If a value is out of range, or two contradict each other.
        """
        names = ("vocabulary_size", "source_vocabulary_size", "target_vocabulary_size")
        source, target = vocabulary_sizes(*(given[name] for name in names))
        shared = given["vocabulary_size"] is not None
        given |= dict(zip(names, (source, None, None) if shared else (None, source, target), strict=True))
        for name in (*_SIZES, "max_distance"):
            given[name] = whole_number(name, given[name], 1)
        for name, least in _LEAST.items():
            if given[name] is not None:
                given[name] = whole_number(name, given[name], least)
        given["epsilon"] = finite_number("epsilon", given["epsilon"], 0.0)
        check_choice(("post", "pre", "deep"), norm=given["norm"])
        check_choice(NORM_KINDS, norm_kind=given["norm_kind"])
        check_choice(POSITION_KINDS, positions=given["positions"])
        widths = given["hidden_dim"], given["decoder_hidden_dim"] or given["hidden_dim"]
        given["tie_embeddings"] = chosen_ties(given["tie_embeddings"], shared, widths)
        return cls(**given)

    @property
    def sizes(self) -> tuple[int, int]:
        """How many source and target tokens there are."""
        return vocabulary_sizes(
            self.vocabulary_size, self.source_vocabulary_size, self.target_vocabulary_size
        )

    def of_decoder(self, size: str) -> int:
        """One of the four sizes of the decoder: its own, or that of the encoder."""
        own: int | None = getattr(self, f"decoder_{size}")
        shared: int = getattr(self, size)
        return own or shared

    def position_keywords(self) -> dict[str, Any]:
        """What `PositionalEncoding` gets on either side, but for its name and seed."""
        return {
            "kind": self.positions,
            "max_length": self.max_length,
            "dropout": self.dropout,
            "norm_kind": self.norm_kind if self.embedding_norm else None,
            "epsilon": self.epsilon,
        }

    def stack_keywords(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What `Encoder` and `Decoder` get, but for their names and seeds."""
        both: dict[str, Any] = {name: getattr(self, name) for name in _OF_BOTH_STACKS}
        both["norm"] = "post" if self.norm == "deep" else self.norm
        inner = ("num_layers", "num_heads", "intermediate_dim")
        encoder = both | {size: getattr(self, size) for size in inner}
        decoder = both | {size: self.of_decoder(size) for size in inner}
        if self.norm == "deep":
            scales = deep_norm(encoder["num_layers"], decoder["num_layers"])
            return encoder | scales[0], decoder | scales[1]
        return encoder, decoder
