"""The recipe of a classification of sequences of vectors: audio features, series of sensors."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tf_transformer.recipe.base import Recipe, Rule
from tf_transformer.recipe.data_section import Data
from tf_transformer.recipe.fields import Whole, key
from tf_transformer.recipe.label_section import (
    LabelEvaluation,
    LabelTraining,
    OnePoolingOrMore,
    Pooled,
    pooling_faults,
)
from tf_transformer.recipe.model_section import Positions, Rate, SequenceModel
from tf_transformer.recipe.training_section import MicroBatch, idle_r_drop, micro_batch
from tf_transformer.recipe.vector_entries import DevData, TestData, TrainData


class VectorData(Data):
    """The sequences and their labels: folders, arrays, lists of files."""

    LONGEST: ClassVar[tuple[str, ...]] = ("max_length",)

    train: TrainData = key(..., "Training sequences: one entry, or a list of entries.", midway="logged")
    dev: DevData = key(
        ...,
        "Sequences that validation runs on: an entry, a list, named sets, or {fraction: 0.1} of train.",
        midway="logged",
    )
    test: TestData | None = key(
        None,
        "Sequences that are scored once, when training ends: an entry, a list, or named sets.",
        midway="free",
    )
    max_length: Positions = key(1024, "Most vectors of a sequence; a longer one is cut.", midway="refused")


class VectorModel(Pooled, SequenceModel):
    """The Transformer's encoder, and how its states become one vector."""

    pooling: OnePoolingOrMore = key(
        "mean", "States to one vector: mean, first, max, attention, or a list of them.", midway="refused"
    )
    pooled_dropout: Rate = key(0.0, "Dropout of that vector.", midway="logged")


class VectorTraining(LabelTraining):
    """How long, how fast, and what is kept. The first of steps, epochs and minutes to be reached ends it."""

    BUDGET: ClassVar[str] = "batch_size"

    batch_size: Annotated[Whole, Field(ge=1, le=10**6)] = key(
        32, "Sequences of one update, over all devices.", midway="logged", after="minutes"
    )
    micro_batch_size: MicroBatch = micro_batch("batch_size", "Sequences")


class ClassifyVectorsRecipe(Recipe):
    """All that determines a run of a classification of sequences of vectors."""

    RULES: ClassVar[tuple[Rule, ...]] = (*Recipe.RULES, (("model",), pooling_faults))

    task: Literal["classify_vectors"] = key(
        ..., "What is trained.", midway="refused", example="classify_vectors"
    )
    data: VectorData = key(..., "The sequences and their labels.", midway="logged")
    model: VectorModel = key(VectorModel(), "The Transformer's encoder.", midway="refused")
    training: VectorTraining = key(VectorTraining(), "How long, how fast, and what is kept.", midway="logged")
    evaluation: LabelEvaluation = key(LabelEvaluation(), "What validation measures.", midway="logged")

    def warnings(self) -> Iterator[str]:
        """See `Recipe`."""
        yield from super().warnings()
        yield from idle_r_drop(self.training.r_drop, *self.model.dropouts)
