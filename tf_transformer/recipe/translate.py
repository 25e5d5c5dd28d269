"""The recipe of a translation."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from tf_transformer.presets import MOST_HYPOTHESES
from tf_transformer.recipe.base import Rule, TextEvaluation
from tf_transformer.recipe.data_section import Data
from tf_transformer.recipe.fault import Fault, at
from tf_transformer.recipe.fields import MOST_PIECES, Flag, PreparedData, Whole, key
from tf_transformer.recipe.model_section import Size, TextModel, head_faults
from tf_transformer.recipe.parallel_entries import (
    DevData,
    TestData,
    TrainData,
    source_columns,
    source_faults,
)
from tf_transformer.recipe.text_recipe import TextRecipe
from tf_transformer.recipe.text_section import SubwordSampling, Text, sampling_faults
from tf_transformer.recipe.training_section import (
    BatchSize,
    EarlyStopping,
    MicroBatch,
    Training,
    idle_r_drop,
    micro_batch,
)
from tf_transformer.recipe.translation_decoding import TranslateDecoding

Pieces = Annotated[Whole, Field(ge=2, le=MOST_PIECES)]


class TranslateData(Data):
    """The text: files, tables, and how long a sentence may be."""

    LONGEST: ClassVar[tuple[str, ...]] = ("max_source_length", "max_target_length")

    train: TrainData = key(..., "Training text: one entry, or a list of entries.", midway="logged")
    dev: DevData = key(
        ..., "Text that validation runs on: an entry, a list, named sets, or {fraction: 0.05} of train.",
        midway="logged",
    )  # fmt: skip
    test: TestData | None = key(
        None, "Text that is scored once, when training ends: an entry, a list, or named sets.", midway="free"
    )
    max_source_length: Pieces = key(
        256, "Longest source sentence in pieces, the end token included.", midway="logged"
    )
    max_target_length: Pieces = key(
        256, "Longest target sentence in pieces, the end token included.", midway="logged"
    )
    on_long: Literal["drop", "truncate"] = key(
        "drop", "What to do with a longer pair of training text; counted either way.", midway="logged"
    )
    temperature: Annotated[float, Field(ge=1, le=100)] = key(
        1.0,
        "Share of a corpus in an epoch: its size to the power of 1 / temperature; above 1 lifts small ones.",
        midway="logged",
    )
    prepared: PreparedData | None = key(
        None,
        "Folder that `tf-transformer prepare` has made of train; null to read and encode train itself.",
        midway="logged",
    )
    shuffle_memory: Annotated[Whole, Field(ge=1, le=10**6)] = key(
        128, "MiB for those rows of prepared data that are in memory and shuffled together.", midway="logged"
    )

    @property
    def source_columns(self) -> int:
        """How many columns each source has."""
        return source_columns(self.train_entries[0])

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of sources, sorted; none where they have none."""
        return tuple(sorted({entry.tag for entry in self.train_entries if entry.tag is not None}))


class TranslateText(Text):
    """How text becomes ids, in training and in serving alike."""

    shared: Flag = key(
        True, "One vocabulary for source and target.", midway="refused", after="vocabulary_size"
    )
    source_end: Flag = key(
        True, "Whether the encoder reads an end token behind each source.", midway="refused", after="unknown"
    )


class TranslateModel(TextModel):
    """The Transformer, an encoder and a decoder."""

    decoder_num_layers: Annotated[Size, Field(le=1000)] | None = key(
        None, "Layers of the decoder; null for num_layers.", midway="refused", after="num_heads"
    )
    decoder_hidden_dim: Size | None = key(
        None,
        "Width of the decoder, a multiple of its heads; null for hidden_dim.",
        midway="refused",
        after="decoder_num_layers",
    )
    decoder_intermediate_dim: Annotated[Size, Field(le=10**6)] | None = key(
        None,
        "Width inside its feed-forward layers; null for intermediate_dim.",
        midway="refused",
        after="decoder_hidden_dim",
    )
    decoder_num_heads: Size | None = key(
        None, "Its attention heads; null for num_heads.", midway="refused", after="decoder_intermediate_dim"
    )
    tie_embeddings: Literal["all", "output", "none"] | None = key(
        None,
        "Shared weights: source = target = output, target = output, or none; by default as many as can be.",
        midway="refused",
    )

    norm_epsilon: Annotated[float, Field(gt=0, le=1)] = key(
        1e-5,
        "Added to the variance by each norm, so that none divides by zero.",
        midway="refused",
        after="norm_kind",
    )
    output_bias: Flag = key(
        False,
        "A number for each target piece is added to its logits.",
        midway="refused",
        after="tie_embeddings",
    )

    @property
    def decoder_width(self) -> int:
        """The width of the decoder."""
        return self.decoder_hidden_dim or self.hidden_dim

    @property
    def decoder_heads(self) -> int:
        """The attention heads of the decoder."""
        return self.decoder_num_heads or self.num_heads


class TranslateSampling(SubwordSampling):
    """Other pieces for the same text each epoch: BPE-dropout, or sampling from a unigram model."""

    sides: Literal["both", "source", "target"] = key("both", "Which side is sampled.", midway="logged")


class TranslateStopping(EarlyStopping):
    """Stops when validation gets no better."""

    metric: Literal["bleu", "rouge_l", "loss"] = key("bleu", "Measure of the first dev set.", midway="free")


class TranslateTraining(Training):
    """How long, how fast, and what is kept. The first of steps, epochs and minutes to be reached ends it."""

    BUDGET: ClassVar[str] = "batch_tokens"
    STOPPING: ClassVar[type[EarlyStopping]] = TranslateStopping

    batch_tokens: BatchSize = key(
        4096,
        "Real target tokens of one update, over all devices; auto finds, once, what fits, up to 25000.",
        midway="logged",
        after="minutes",
    )
    micro_batch_tokens: MicroBatch = micro_batch("batch_tokens", "Padded tokens of the longer side")
    loss_chunk: Annotated[Whole, Field(ge=16, le=10**8)] | None = key(
        1024,
        "Target positions whose logits are in memory at a time; null for all of an update.",
        midway="logged",
        after="label_smoothing",
    )
    subword_sampling: TranslateSampling | None = key(
        None,
        "Segment training text anew each epoch (sentencepiece only); null for never.",
        midway="logged",
        after="average_by",
    )
    r_drop: Annotated[float, Field(gt=0, le=1000)] | None = key(
        None,
        "R-Drop's alpha, such as 5: two dropouts of each batch must agree, at twice the cost; null for one.",
        midway="logged",
        after="subword_sampling",
    )
    early_stopping: TranslateStopping | None = key(
        None, "Stop when validation gets no better; null for never.", midway="free"
    )


class TranslateEvaluation(TextEvaluation):
    """What validation measures."""

    tokenize: Literal["13a", "intl", "zh", "char", "none"] = key(
        "13a", "sacreBLEU's tokenizer for val_bleu and test_bleu.", midway="logged"
    )
    rouge: Literal["stemmed", "plain", "characters"] | None = key(
        None,
        "Also ROUGE-1, 2 and L: words of a-z and 0-9, stemmed or plain, or characters; null for none.",
        midway="logged",
    )
    beam: Annotated[Whole, Field(ge=1, le=MOST_HYPOTHESES)] = key(
        1, "Beam of validation while training; 1, greedy, is fastest.", midway="logged"
    )


def _shared(text: TranslateText) -> Iterator[Fault]:
    if text.model is not None and not text.shared:
        rule = "must be true with text.model, which is one file for both sides"
        yield Fault(("text", "shared"), rule, False, others=(at("text.model"),))


def _tied(text: TranslateText, model: TranslateModel) -> Iterator[Fault]:
    if model.tie_embeddings == "all" and not text.shared:
        rule = "must be output or none where text.shared is false"
        yield Fault(("model", "tie_embeddings"), rule, "all", others=(at("text.shared"),))


def _decoder(model: TranslateModel) -> Iterator[Fault]:
    width, num_heads = model.decoder_width, model.decoder_heads
    if model.decoder_hidden_dim is None and model.decoder_num_heads is None:
        return
    heads = "decoder_num_heads" if model.decoder_num_heads is not None else "num_heads"
    if width % num_heads:
        name = "decoder_hidden_dim" if model.decoder_hidden_dim is not None else "hidden_dim"
        rule = f"must be a multiple of model.{heads}, which is {num_heads}"
        yield Fault(("model", name), rule, width, others=(at(f"model.{heads}"),))
    else:
        yield from head_faults(model, heads, num_heads, width)
    if model.tie_embeddings == "all" and width != model.hidden_dim:
        rule = f"must be output or none where the widths differ, here {model.hidden_dim} and {width}"
        others = (at("model.decoder_hidden_dim"), at("model.hidden_dim"))
        yield Fault(("model", "tie_embeddings"), rule, "all", others=others)


def _prepared(data: TranslateData, training: TranslateTraining) -> Iterator[Fault]:
    if data.prepared is not None and training.subword_sampling is not None:
        rule = "segments text anew, and data.prepared holds no text: leave one of them out"
        yield Fault(("training", "subword_sampling"), rule, others=(at("data.prepared"),))


def _made_elsewhere(data: TranslateData, text: TranslateText) -> Iterator[Fault]:
    if data.prepared is not None and text.update is not None:
        rule = "makes pieces anew, and data.prepared has its own: leave one of them out"
        yield Fault(("text", "update"), rule, text.update, others=(at("data.prepared"),))


def _rouge(training: TranslateTraining, evaluation: TranslateEvaluation) -> Iterator[Fault]:
    if training.best_by == "rouge_l" and evaluation.rouge is None:
        rule = "is not measured: evaluation.rouge is null"
        where = at("training.early_stopping.metric")
        yield Fault(where, rule, "rouge_l", others=(at("evaluation.rouge"),))


class TranslateRecipe(TextRecipe):
    """All that determines a run of a translation."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *TextRecipe.RULES,
        (("text",), _shared),
        (("text", "training"), sampling_faults),
        (("text", "model"), _tied),
        (("model",), _decoder),
        (("data",), source_faults),
        (("data", "training"), _prepared),
        (("data", "text"), _made_elsewhere),
        (("training", "evaluation"), _rouge),
    )

    task: Literal["translate"] = key(..., "What is trained.", midway="refused", example="translate")
    data: TranslateData = key(..., "The text.", midway="logged")
    text: TranslateText = key(
        TranslateText(),
        "How text becomes ids, in training and in serving alike.",
        midway="refused",
        after="data",
    )
    model: TranslateModel = key(TranslateModel(), "The Transformer.", midway="refused")
    training: TranslateTraining = key(
        TranslateTraining(), "How long, how fast, and what is kept.", midway="logged"
    )
    decoding: TranslateDecoding = key(
        TranslateDecoding(), "The search that finds translations.", midway="free", after="training"
    )
    evaluation: TranslateEvaluation = key(TranslateEvaluation(), "What validation measures.", midway="logged")

    def completed(self) -> Self:
        """See `TextRecipe`; also ties of embeddings."""
        recipe = super().completed()
        if recipe.model.tie_embeddings is None:
            one_table = recipe.text.shared and recipe.model.decoder_width == recipe.model.hidden_dim
            recipe = recipe.replaced("model", tie_embeddings="all" if one_table else "output")
        return recipe

    def warnings(self) -> Iterator[str]:
        """See `Recipe`."""
        yield from super().warnings()
        model, data = self.model, self.data
        yield from idle_r_drop(self.training.r_drop, *model.dropouts)
        if model.positions == "alibi":
            yield (
                "model.positions: alibi counts distances the same either way: to the encoder a sentence and "
                "its mirror image are one"
            )
        if self.text.tokenizer == "bytes" and min(data.max_source_length, data.max_target_length) < 100:
            yield "data.max_source_length and data.max_target_length count bytes here, and are under 100"
