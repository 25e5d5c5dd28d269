"""The recipe of a text classification."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, Strict, Tag

from tf_transformer.presets import MOST_SPECIAL_TOKENS
from tf_transformer.recipe.base import Rule, TextEvaluation
from tf_transformer.recipe.data_section import Data
from tf_transformer.recipe.fault import Fault, at
from tf_transformer.recipe.fields import MOST_PIECES, DataFile, Flag, Whole, key, one_or_list
from tf_transformer.recipe.label_section import LabelEvaluation, LabelTraining, Names, Pooled, pooling_faults
from tf_transformer.recipe.labelled_entries import DevData, TestData, TrainData
from tf_transformer.recipe.model_section import Rate, Size, TextModel
from tf_transformer.recipe.text_recipe import TextRecipe
from tf_transformer.recipe.text_section import SubwordSampling, Text, sampling_faults
from tf_transformer.recipe.training_section import BatchSize, MicroBatch, idle_r_drop, micro_batch

Pieces = Annotated[Whole, Field(ge=3, le=MOST_PIECES)]
Pooling = Literal["mean", "first", "max", "attention", "marks", "stem"]
Poolings = Annotated[tuple[Pooling, ...], Strict(False), Field(min_length=1)]
Widths = Annotated[tuple[Annotated[Whole, Field(ge=1, le=100)], ...], Strict(False)]


class ClassifyData(Data):
    """The text and its labels: files, tables, and how long a text may be."""

    LONGEST: ClassVar[tuple[str, ...]] = ("max_text_length",)

    train: TrainData = key(..., "Training text: one entry, or a list of entries.", midway="logged")
    dev: DevData = key(
        ..., "Text that validation runs on: an entry, a list, named sets, or {fraction: 0.05} of train.",
        midway="logged",
    )  # fmt: skip
    test: TestData | None = key(
        None, "Text that is scored once, when training ends: an entry, a list, or named sets.", midway="free"
    )
    max_text_length: Pieces = key(
        256, "Longest text in pieces, the start and the end token included.", midway="logged"
    )
    on_long: Literal["drop", "truncate"] = key(
        "truncate", "What to do with a longer training text; counted either way.", midway="logged"
    )


class ClassifyText(Text):
    """How text becomes ids, in training and in serving alike."""

    special_tokens: Names = key(
        (),
        "Tokens such as <e1> that a text may hold as they are spelled here, and that nothing else becomes.",
        midway="refused",
    )


class ClassifyModel(Pooled, TextModel):
    """The Transformer's encoder, what comes before it, and how its states become one vector."""

    pooling: Annotated[
        Annotated[Pooling, Tag("<one>")] | Annotated[Poolings, Tag("<list>")], Discriminator(one_or_list)
    ] = key(
        "mean",
        "States to a vector: mean, first, max, attention, marks, stem (max over convolutions); or a list.",
        midway="refused",
    )
    pooled_dropout: Rate = key(0.1, "Dropout of that vector.", midway="logged")
    token_dropout: Rate = key(
        0.0, "Share of training's pieces that are replaced by the unknown one.", midway="logged"
    )
    convolutions: Widths = key(
        (), "Widths of convolutions before the encoder, such as [2, 3]; none for none.", midway="refused"
    )
    convolution_filters: Size | None = key(
        None, "Features that each convolution sees; null for hidden_dim.", midway="refused"
    )
    mark_distance: Annotated[Whole, Field(ge=0, le=10**4)] = key(
        0,
        "How many pieces from a special token a piece still knows its distance, by a trained vector; or 0.",
        midway="refused",
    )
    embedding_dim: Size | None = key(
        None, "Width of the table of pieces, where it is not hidden_dim: projected to that.", midway="refused"
    )
    embedding_deviation: Annotated[float, Field(gt=0, le=10)] = key(
        1.0, "Deviation of the vectors of pieces at the beginning; the paper's is 1.", midway="refused"
    )
    word_vectors: DataFile | None = key(
        None,
        "A file with word vectors, in the text format of word2vec and GloVe, that the table begins with.",
        midway="free",
    )
    freeze_embeddings: Flag = key(
        False, "Leave the table of pieces as it is at the beginning.", midway="refused"
    )

    @property
    def uses_marks(self) -> bool:
        """Whether the model asks where special tokens stand: each text must have each of them once."""
        return "marks" in self.poolings or self.mark_distance > 0


class ClassifyTraining(LabelTraining):
    """How long, how fast, and what is kept. The first of steps, epochs and minutes to be reached ends it."""

    BUDGET: ClassVar[str] = "batch_tokens"

    batch_tokens: BatchSize = key(
        2048,
        "Real tokens of the texts of one update, over all devices; auto finds, once, what fits, up to 25000.",
        midway="logged",
        after="minutes",
    )
    micro_batch_tokens: MicroBatch = micro_batch("batch_tokens", "Padded tokens")
    subword_sampling: SubwordSampling | None = key(
        None,
        "Segment training text anew each epoch (sentencepiece only); null for never.",
        midway="logged",
        after="average_by",
    )


class ClassifyEvaluation(LabelEvaluation, TextEvaluation):
    """What validation measures."""

    directed: Flag = key(
        False,
        "Labels R(e1,e2) and R(e2,e1) are one class of macro_f1; the wrong direction is wrong.",
        midway="logged",
        after="unseen_labels",
    )


def _marks(text: ClassifyText, model: ClassifyModel) -> Iterator[Fault]:
    if not model.uses_marks or text.special_tokens:
        return
    name = "pooling" if "marks" in model.poolings else "mark_distance"
    rule = "asks for text.special_tokens, and there are none"
    yield Fault(("model", name), rule, getattr(model, name), others=(at("text.special_tokens"),))


def _special_tokens(text: ClassifyText) -> Iterator[Fault]:
    if len(text.special_tokens) > MOST_SPECIAL_TOKENS:
        rule = f"must be at most {MOST_SPECIAL_TOKENS} tokens"
        yield Fault(("text", "special_tokens"), rule, len(text.special_tokens))
    for place, token in enumerate(text.special_tokens):
        if not token.isprintable() or any(letter.isspace() for letter in token):
            rule = "must have no white space and no control characters"
            yield Fault(("text", "special_tokens", place), rule, token)
        elif token in text.special_tokens[:place]:
            yield Fault(("text", "special_tokens", place), "is there twice", token)


def _table(model: ClassifyModel, training: ClassifyTraining) -> Iterator[Fault]:
    if model.freeze_embeddings and model.word_vectors is None and training.initialize_from is None:
        rule = "is for model.word_vectors, and there are none: a table drawn at random would never learn"
        yield Fault(("model", "freeze_embeddings"), rule, True, others=(at("model.word_vectors"),))


def _beginnings(model: ClassifyModel) -> Iterator[Fault]:
    if model.word_vectors is not None and model.initialize_encoder_from is not None:
        rule = "would replace what model.initialize_encoder_from has put there: leave one of them out"
        others = (at("model.initialize_encoder_from"),)
        yield Fault(("model", "word_vectors"), rule, str(model.word_vectors), others=others)


def _stem(model: ClassifyModel) -> Iterator[Fault]:
    rule = "asks for model.convolutions, and there are none"
    if "stem" in model.poolings and not model.convolutions:
        yield Fault(("model", "pooling"), rule, model.pooling, others=(at("model.convolutions"),))
    if model.convolution_filters is not None and not model.convolutions:
        key, others = ("model", "convolution_filters"), (at("model.convolutions"),)
        yield Fault(key, rule, model.convolution_filters, others=others)


class ClassifyTextRecipe(TextRecipe):
    """All that determines a run of a text classification."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *TextRecipe.RULES,
        (("text",), _special_tokens),
        (("text", "model"), _marks),
        (("model", "training"), _table),
        (("model",), _beginnings),
        (("model",), pooling_faults),
        (("model",), _stem),
        (("text", "training"), sampling_faults),
    )

    task: Literal["classify_text"] = key(..., "What is trained.", midway="refused", example="classify_text")
    data: ClassifyData = key(..., "The text and its labels.", midway="logged")
    text: ClassifyText = key(
        ClassifyText(),
        "How text becomes ids, in training and in serving alike.",
        midway="refused",
        after="data",
    )
    model: ClassifyModel = key(ClassifyModel(), "The Transformer's encoder.", midway="refused")
    training: ClassifyTraining = key(
        ClassifyTraining(), "How long, how fast, and what is kept.", midway="logged"
    )
    evaluation: ClassifyEvaluation = key(ClassifyEvaluation(), "What validation measures.", midway="logged")

    def warnings(self) -> Iterator[str]:
        """See `Recipe`."""
        yield from super().warnings()
        yield from idle_r_drop(self.training.r_drop, *self.model.dropouts, self.model.token_dropout)
