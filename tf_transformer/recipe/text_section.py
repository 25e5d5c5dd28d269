"""The ``text`` section of a recipe: how text becomes ids, and the rules of it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from tf_transformer.recipe.data_section import Data, entries_of
from tf_transformer.recipe.fault import Fault, at
from tf_transformer.recipe.fields import MOST_PIECES, DataFile, Flag, NormalForm, Section, Whole, key
from tf_transformer.recipe.training_section import Training

SMALLEST_WITH_BYTES = 300
"""The four special pieces, 256 bytes, and some room for text."""


_MERGED = frozenset({"update", "vocabulary_size", "vocabulary_lines"})
_OWN_KEYS = {"merge": _MERGED, "replace": _MERGED | {"model", "sentencepiece_type", "byte_fallback"}}
"""Keys that an update makes those of the recipe, and not of the run that its training begins from."""


class Text(Section):
    """How text becomes ids, in training and in serving alike."""

    tokenizer: Literal["sentencepiece", "wordpiece", "words", "characters", "bytes"] = key(
        "sentencepiece", "Kind of pieces. The last three export without custom ops.", midway="refused"
    )
    model: DataFile | None = key(
        None, "An existing tokenizer file, in place of training one.", midway="refused"
    )
    update: Literal["merge", "replace"] | None = key(
        None,
        "Pieces of training.initialize_from: merge adds those that train lacks, replace makes others.",
        midway="refused",
    )
    vocabulary_size: Annotated[Whole, Field(ge=5, le=MOST_PIECES)] | None = key(
        None,
        "Pieces of a vocabulary, the four special ones included; none for bytes or an existing file.",
        midway="refused",
        factory=lambda keys: 8000 if _has_usual_size(keys) else None,
    )
    vocabulary_lines: Annotated[Whole, Field(ge=1000, le=10**8)] = key(
        500_000,
        "Most rows of train that a vocabulary is found from, evenly spread, so that memory is bounded.",
        midway="refused",
    )
    # BPE, not unigram: on 60 000 lines it trains in 0.5 s against 12 s, and it translates no worse.
    sentencepiece_type: Literal["bpe", "unigram"] | None = key(
        None,
        "How SentencePiece finds its pieces (sentencepiece only); bpe trains 20 times faster.",
        midway="refused",
        factory=lambda keys: "bpe" if _trains_sentencepiece(keys) else None,
    )
    byte_fallback: Flag | None = key(
        None,
        "Spell unknown characters in bytes, 256 pieces for it (sentencepiece only).",
        midway="refused",
        factory=lambda keys: True if _trains_sentencepiece(keys) else None,
    )
    normal_form: NormalForm | None = key(
        None, "Unicode normal form; by default that of the train entries, else none.", midway="refused"
    )
    lowercase: Flag = key(False, "Lower-case all text, references included.", midway="refused")
    unknown: Literal["mark", "drop"] = key(
        "mark", "Unknown pieces of an answer: written as a mark, or left out.", midway="refused"
    )

    @classmethod
    def own_keys(cls, given: Mapping[str, Any]) -> frozenset[str]:
        """See `Section`."""
        return _OWN_KEYS.get(str(given.get("update")), frozenset({"update"}))


def _trains_sentencepiece(keys: dict[str, Any]) -> bool:
    return keys.get("tokenizer") == "sentencepiece" and keys.get("model") is None


def _has_usual_size(keys: dict[str, Any]) -> bool:
    return keys.get("tokenizer") != "bytes" and keys.get("model") is None and keys.get("update") != "merge"


class SubwordSampling(Section):
    """Other pieces for the same text each epoch: BPE-dropout, or sampling from a unigram model."""

    alpha: Annotated[float, Field(gt=0, le=1)] = key(
        0.1,
        "BPE: share of merges left out, more is stranger; unigram: exponent of P, less is stranger.",
        midway="logged",
    )


def text_faults(text: Text) -> Iterator[Fault]:
    """Keys that do not go with the kind of tokenizer."""
    if text.tokenizer != "sentencepiece" or text.model is not None:
        why = "text.model is given" if text.model is not None else f"text.tokenizer is {text.tokenizer}"
        for name in ("sentencepiece_type", "byte_fallback"):
            if getattr(text, name) is not None:
                rule = f"is for training a SentencePiece tokenizer, and {why}"
                theirs = (at("text.model"), at("text.tokenizer"))
                yield Fault(("text", name), rule, getattr(text, name), others=theirs)
    if text.tokenizer == "bytes":
        for name in ("vocabulary_size", "model"):
            if getattr(text, name) is not None:
                rule = "must be left out: bytes have a fixed vocabulary"
                yield Fault(("text", name), rule, getattr(text, name), others=(at("text.tokenizer"),))
    elif (
        text.byte_fallback and text.vocabulary_size is not None and text.vocabulary_size < SMALLEST_WITH_BYTES
    ):
        rule = f"must be at least {SMALLEST_WITH_BYTES} with text.byte_fallback, which takes 256 pieces"
        hint, others = "or set text.byte_fallback to false", (at("text.byte_fallback"),)
        yield Fault(("text", "vocabulary_size"), rule, text.vocabulary_size, hint, others)


def update_faults(text: Text, training: Training) -> Iterator[Fault]:
    """Keys that an update of a vocabulary needs, or that have no place beside it."""
    if text.update is None:
        return
    where, others = ("text", "update"), (at("text.update"),)
    if getattr(training, "initialize_from", None) is None:
        rule = "is for the tokenizer of training.initialize_from, which is null"
        yield Fault(where, rule, text.update, others=(at("training.initialize_from"),))
    if text.tokenizer == "bytes":
        rule = "must be left out: bytes have a fixed vocabulary"
        yield Fault(where, rule, text.update, others=(at("text.tokenizer"),))
    elif text.update == "merge" and text.model is not None:
        rule = "must be left out with text.update: merge, which adds pieces to those of another run"
        yield Fault(("text", "model"), rule, text.model, others=others)
    elif text.update == "merge" and text.vocabulary_size is None:
        rule = "is required with text.update: merge: the pieces that there are afterwards, old and new"
        yield Fault(("text", "vocabulary_size"), rule, others=others)


def sampling_faults(text: Text, training: Training) -> Iterator[Fault]:
    """Sampling of pieces, in a task that has ``training.subword_sampling``."""
    if getattr(training, "subword_sampling", None) is not None and not getattr(text, "source_end", True):
        rule = "is for sources with an end token, and text.source_end is false"
        yield Fault(("training", "subword_sampling"), rule, others=(at("text.source_end"),))
    if getattr(training, "subword_sampling", None) is not None and text.tokenizer != "sentencepiece":
        rule = f"is for sentencepiece, and text.tokenizer is {text.tokenizer}"
        yield Fault(("training", "subword_sampling"), rule)


def normal_form_faults(data: Data, text: Text) -> Iterator[Fault]:
    """Training and serving have one normal form: every entry that names one must name that one."""
    wanted = text.normal_form or entries_form(data) or "none"
    for path, entry in entries_of(data):
        if entry.normal_form is not None and entry.normal_form != wanted:
            rule = f"must be {wanted}, as text.normal_form or the other entries are: one form serves all text"
            others = tuple((*place, "normal_form") for place, _ in entries_of(data))
            yield Fault(
                (*path, "normal_form"), rule, entry.normal_form, "", (at("text.normal_form"), *others)
            )


def entries_form(data: Data) -> str | None:
    """The normal form that the first train entry which names one has."""
    return next((entry.normal_form for entry in data.train_entries if entry.normal_form is not None), None)
