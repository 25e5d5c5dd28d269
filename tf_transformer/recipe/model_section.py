"""The part of the ``model`` section that tasks share: sizes, blocks and dropouts; positions of sequences."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from tf_transformer.presets import MODEL_PRESETS
from tf_transformer.recipe.data_section import Data
from tf_transformer.recipe.fault import Fault, at
from tf_transformer.recipe.fields import MOST_PIECES, Flag, PresetFile, Section, Whole, key

Size = Annotated[Whole, Field(ge=1, le=65536)]
Positions = Annotated[Whole, Field(ge=2, le=MOST_PIECES)]
Rate = Annotated[float, Field(ge=0, lt=1)]


def _preset(
    size: Literal["num_layers", "hidden_dim", "intermediate_dim", "num_heads"],
) -> Callable[[Any], int]:
    return lambda keys: MODEL_PRESETS[keys.get("preset", "tiny")][size]


class Model(Section):
    """The Transformer."""

    preset: Literal["tiny", "small", "base", "big"] = key(
        "tiny", "Sizes by name; the four keys below replace single ones.", midway="refused"
    )
    num_layers: Annotated[Size, Field(le=1000)] = key(
        None,
        "Layers of the encoder and of the decoder, whichever there are.",
        midway="refused",
        factory=_preset("num_layers"),
    )
    hidden_dim: Size = key(
        None, "Width of the model, a multiple of num_heads.", midway="refused", factory=_preset("hidden_dim")
    )
    intermediate_dim: Annotated[Size, Field(le=10**6)] = key(
        None, "Width inside the feed-forward layers.", midway="refused", factory=_preset("intermediate_dim")
    )
    num_heads: Size = key(None, "Attention heads.", midway="refused", factory=_preset("num_heads"))
    num_key_value_heads: Size | None = key(
        None,
        "Heads of keys and values, a divisor of num_heads, that attention heads share; null for one each.",
        midway="refused",
    )
    share_layers: Flag = key(
        False, "One layer stands at every depth: its weights are used num_layers times.", midway="refused"
    )
    activation: Literal["relu", "gelu", "gelu_tanh", "swish", "swiglu"] = key(
        "relu", "Inside the feed-forward layers; gelu_tanh is BERT's.", midway="refused"
    )
    norm: Literal["pre", "post", "deep"] = key(
        "pre",
        "Layer norm before a sublayer, after it as in the paper, or after it and scaled for many layers.",
        midway="refused",
    )
    norm_kind: Literal["layer", "rms"] = key(
        "layer", "Layer norm, or RMSNorm, which neither centres nor shifts.", midway="refused"
    )
    dropout: Rate = key(0.1, "Dropout of embeddings and of each sublayer's output.", midway="logged")
    attention_dropout: Rate = key(0.0, "Dropout of attention weights.", midway="logged")
    activation_dropout: Rate = key(0.0, "Dropout inside the feed-forward layers.", midway="logged")

    @property
    def dropouts(self) -> tuple[float, ...]:
        """All rates of dropout."""
        return self.dropout, self.attention_dropout, self.activation_dropout


class SequenceModel(Model):
    """A Transformer over sequences of any length."""

    embedding_norm: Flag = key(
        False,
        "A norm of pieces and their positions before the first layer.",
        midway="refused",
        after="norm_kind",
    )
    positions: Literal[
        "sinusoidal", "timescale", "learned", "index", "relative", "rotary", "alibi", "none"
    ] = key(
        "sinusoidal",
        "How the model knows the place of a piece: added to it (first four), or by attention (next three).",
        midway="refused",
        after="embedding_norm",
    )
    max_length: Positions | None = key(
        None,
        "Rows of the learned positions; by default what the longest example needs.",
        midway="refused",
        after="positions",
    )
    max_distance: Annotated[Size, Field(le=10**5)] | None = key(
        None,
        "Greatest distance that relative positions tell from greater ones.",
        midway="refused",
        factory=lambda keys: 16 if keys.get("positions") == "relative" else None,
        after="max_length",
    )


class TextModel(SequenceModel):
    """A Transformer whose encoder reads text."""

    initialize_encoder_from: PresetFile | None = key(
        None,
        "Folder of a keras_nlp preset of BERT's kin, whose weights the encoder begins with where they fit.",
        midway="refused",
    )


def model_faults(model: Model) -> Iterator[Fault]:
    """Sizes and positions that contradict each other."""
    if model.hidden_dim % model.num_heads:
        rule = f"must be a multiple of model.num_heads, which is {model.num_heads}"
        yield Fault(("model", "hidden_dim"), rule, model.hidden_dim, others=(at("model.num_heads"),))
    yield from head_faults(model, "num_heads", model.num_heads, model.hidden_dim)
    if isinstance(model, SequenceModel) and model.max_distance is not None and model.positions != "relative":
        rule = f"is for relative positions, and model.positions is {model.positions}"
        yield Fault(("model", "max_distance"), rule, model.max_distance, others=(at("model.positions"),))
    if isinstance(model, SequenceModel) and model.max_length is not None and model.positions != "learned":
        rule = f"is for learned positions, and model.positions is {model.positions}"
        yield Fault(("model", "max_length"), rule, model.max_length, others=(at("model.positions"),))


def width_faults(model: Model) -> Iterator[Fault]:
    """A width that the kind of positions has no formula for."""
    if isinstance(model, SequenceModel) and model.positions == "timescale":
        for name in ("hidden_dim", "decoder_hidden_dim"):
            width = getattr(model, name, None)
            if width is not None and (width % 2 or width < 4):
                rule = "must be even and at least 4 where model.positions is timescale"
                yield Fault(("model", name), rule, width, others=(at("model.positions"),))


def position_faults(data: Data, model: Model) -> Iterator[Fault]:
    """Learned positions that are fewer than an example may have."""
    if not isinstance(model, SequenceModel) or data.longest is None:
        return
    if model.positions == "learned" and model.max_length is not None and model.max_length < data.longest:
        first, *further = data.LONGEST
        rule = f"must be at least data.{first}, which is {data.longest}"
        if further:
            rule = f"must be at least {data.longest}, the longer of data.{' and '.join(data.LONGEST)}"
        others = (at("model.positions"), *(at(f"data.{name}") for name in data.LONGEST))
        yield Fault(("model", "max_length"), rule, model.max_length, others=others)


def head_faults(model: Model, key: str, num_heads: int, hidden_dim: int) -> Iterator[Fault]:
    """Heads that a variant of attention has no use for; `key` is the one that says how many there are."""
    groups, heads = model.num_key_value_heads, at(f"model.{key}")
    if groups is not None and num_heads % groups:
        rule = f"must divide model.{key}, which is {num_heads}"
        yield Fault(("model", "num_key_value_heads"), rule, groups, others=(heads,))
    turned = isinstance(model, SequenceModel) and model.positions == "rotary"
    if turned and hidden_dim % num_heads == 0 and hidden_dim // num_heads % 2:
        rule = f"rotary needs heads of an even width, and {hidden_dim} over {num_heads} heads is odd"
        yield Fault(("model", "positions"), rule, "rotary", others=(heads,))
