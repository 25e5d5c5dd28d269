"""The recipe of a language model."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, Strict

from tf_transformer.presets import LONGEST_ANSWER
from tf_transformer.recipe.base import Rule, TextEvaluation
from tf_transformer.recipe.data_section import Data, entries_of
from tf_transformer.recipe.entries import Table
from tf_transformer.recipe.fault import Fault, at
from tf_transformer.recipe.fields import MOST_PIECES, Flag, Section, Whole, key
from tf_transformer.recipe.model_section import SequenceModel
from tf_transformer.recipe.running_text_entries import DevTexts, TestTexts, TrainTexts
from tf_transformer.recipe.text_recipe import TextRecipe
from tf_transformer.recipe.text_section import Text
from tf_transformer.recipe.training_section import (
    BatchSize,
    EarlyStopping,
    MicroBatch,
    Rate,
    Training,
    micro_batch,
)

Seed = Annotated[Whole, Field(ge=0, lt=2**31)]
Window = Annotated[Whole, Field(ge=2, le=MOST_PIECES)]
Stride = Annotated[Whole, Field(ge=1, le=MOST_PIECES)]


class GenerateData(Data):
    """The text: files and tables, and what of it the model sees at once."""

    LONGEST: ClassVar[tuple[str, ...]] = ("window",)

    train: TrainTexts = key(..., "Training text: one entry, or a list of entries.", midway="logged")
    dev: DevTexts = key(
        ..., "Text that validation runs on: an entry, a list, named sets, or {fraction: 0.05} of train.",
        midway="logged",
    )  # fmt: skip
    test: TestTexts | None = key(
        None, "Text that is scored once, when training ends: an entry, a list, or named sets.", midway="free"
    )
    unit: Literal["text", "paragraph", "line"] = key(
        "text",
        "What is a text: a whole file, which has no end; what stands between blank lines; or a line.",
        midway="refused",
    )
    window: Window = key(
        256, "Positions that the model sees at once; a long text is read in windows of it.", midway="refused"
    )
    on_long: Literal["drop", "truncate"] = key(
        "drop", "What to do with a paragraph or line that is longer, in training; counted.", midway="logged"
    )


class GenerateText(Text):
    """How text becomes ids, in training and in serving alike."""

    tokenizer: Literal["sentencepiece", "wordpiece", "words", "characters", "bytes"] = key(
        "characters", "Kind of pieces. The last three export without custom ops.", midway="refused"
    )


class GenerateModel(SequenceModel):
    """The Transformer, a decoder alone."""

    tie_embeddings: Flag = key(True, "One table for inputs and outputs.", midway="refused")


class GenerateTraining(Training):
    """How long, how fast, and what is kept. The first of steps, epochs and minutes to be reached ends it."""

    BUDGET: ClassVar[str] = "batch_tokens"

    batch_tokens: BatchSize = key(
        8192,
        "Real target tokens of one update, over all devices; auto finds, once, what fits, up to 25000.",
        midway="logged",
        after="minutes",
    )
    micro_batch_tokens: MicroBatch = micro_batch("batch_tokens", "Padded tokens")
    label_smoothing: Rate = key(0.0, "Probability spread over the wrong pieces.", midway="logged")
    loss_chunk: Annotated[Whole, Field(ge=16, le=10**8)] | None = key(
        None,
        "Positions whose logits are in memory at a time, such as 1024; null for all, which is faster.",
        midway="logged",
        after="label_smoothing",
    )
    early_stopping: EarlyStopping | None = key(
        None, "Stop when validation gets no better; null for never.", midway="free"
    )


class GenerateDecoding(Section):
    """How texts are continued."""

    max_length: Annotated[Whole, Field(ge=1, le=LONGEST_ANSWER)] = key(
        200, "Longest continuation in pieces.", midway="free"
    )
    temperature: Annotated[float, Field(ge=0, le=100)] = key(
        1.0, "Below 1 likely pieces become likelier; 0 always takes the likeliest.", midway="free"
    )
    top_k: Annotated[Whole, Field(ge=0, lt=2**31)] = key(
        0, "Draw from so many of the likeliest pieces; 0 for all.", midway="free"
    )
    top_p: Annotated[float, Field(gt=0, le=1)] = key(
        1.0, "Draw from the likeliest pieces that together have this probability; 1 for all.", midway="free"
    )
    repetition_penalty: Annotated[float, Field(gt=0, le=100)] = key(
        1.0, "Above 1, pieces that were there before become less likely.", midway="free"
    )
    no_repeat: Annotated[Whole, Field(ge=0, le=LONGEST_ANSWER)] = key(
        0, "So many pieces in a row never come twice; 0 for no such rule.", midway="free"
    )
    banned: Annotated[tuple[str, ...], Strict(False)] = key(
        (), "Pieces of the vocabulary that are never drawn, as text.", midway="free"
    )
    seed: Seed = key(1, "Seed of the random numbers.", midway="free")
    stride: Stride | None = key(
        None, "Pieces forgotten at a time where a text outgrows data.window; by default half of it.",
        midway="free",
    )  # fmt: skip


class GenerateEvaluation(TextEvaluation):
    """What validation measures."""

    stride: Stride | None = key(
        None,
        "Windows begin every so many pieces; each piece counts once. By default half of data.window.",
        midway="logged",
    )


def _white_space(data: GenerateData, text: GenerateText) -> Iterator[Fault]:
    """Where texts have lines, the tokenizer must be able to write their ends."""
    if data.unit == "line":
        return
    others = (at("data.unit"),)
    if text.tokenizer in ("words", "wordpiece"):
        rule = (
            f"must be sentencepiece, characters or bytes with data.unit {data.unit}: words have no line ends"
        )
        yield Fault(("text", "tokenizer"), rule, text.tokenizer, others=others)
    if text.byte_fallback is False:
        rule = f"must be true with data.unit {data.unit}: a line end is spelled as a byte"
        yield Fault(("text", "byte_fallback"), rule, False, others=others)


def _tables(data: GenerateData) -> Iterator[Fault]:
    """A row of a table is a text of its own."""
    if data.unit == "text":
        for path, entry in entries_of(data):
            if isinstance(entry, Table):
                rule = "is for data.unit paragraph or line: a row is a text of its own, with an end"
                yield Fault((*path, "table"), rule, entry.table, others=(at("data.unit"),))


def _strides(
    data: GenerateData, decoding: GenerateDecoding, evaluation: GenerateEvaluation
) -> Iterator[Fault]:
    most = {"decoding": data.window - 1, "evaluation": data.window}
    for name, section in (("decoding", decoding), ("evaluation", evaluation)):
        if section.stride is not None and section.stride > most[name]:
            rule = f"must be at most {most[name]}, as data.window is {data.window}"
            yield Fault((name, "stride"), rule, section.stride, others=(at("data.window"),))


class GenerateRecipe(TextRecipe):
    """All that determines a run of a language model."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *TextRecipe.RULES,
        (("data", "text"), _white_space),
        (("data",), _tables),
        (("data", "decoding", "evaluation"), _strides),
    )

    task: Literal["generate"] = key(..., "What is trained.", midway="refused", example="generate")
    data: GenerateData = key(..., "The text.", midway="logged")
    text: GenerateText = key(
        GenerateText(),
        "How text becomes ids, in training and in serving alike.",
        midway="refused",
        after="data",
    )
    model: GenerateModel = key(GenerateModel(), "The Transformer.", midway="refused")
    training: GenerateTraining = key(
        GenerateTraining(), "How long, how fast, and what is kept.", midway="logged"
    )
    decoding: GenerateDecoding = key(
        GenerateDecoding(), "How texts are continued.", midway="free", after="training"
    )
    evaluation: GenerateEvaluation = key(GenerateEvaluation(), "What validation measures.", midway="logged")

    def completed(self) -> Self:
        """See `TextRecipe`; also strides."""
        recipe = super().completed()
        for section in ("decoding", "evaluation"):
            if getattr(recipe, section).stride is None:
                recipe = recipe.replaced(section, stride=max(1, recipe.data.window // 2))
        return recipe
