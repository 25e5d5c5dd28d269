"""What the recipes of all tasks have in common: their sections, their rules, and what they leave open."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from tf_transformer.recipe.about_section import About
from tf_transformer.recipe.data_section import Data, data_faults
from tf_transformer.recipe.fault import Fault
from tf_transformer.recipe.fields import Flag, Section, Whole, key
from tf_transformer.recipe.model_section import (
    Model,
    SequenceModel,
    model_faults,
    position_faults,
    width_faults,
)
from tf_transformer.recipe.schedules import Cosine, Falling
from tf_transformer.recipe.training_section import Training, replaced_weights, training_faults

Rule = tuple[tuple[str, ...], Callable[..., Iterator[Fault]]]
"""Names of sections, and a function of them that yields faults which no single key shows."""


class Evaluation(Section):
    """What validation measures."""

    samples: Annotated[Whole, Field(ge=0, le=1000)] = key(
        5, "Dev examples whose answer each validation shows.", midway="free"
    )


class TextEvaluation(Evaluation):
    """What validation measures of a task whose model reads text."""

    self_attention: Flag = key(
        False, "Also pictures of self-attention in TensorBoard, of sample texts.", midway="free"
    )


class FileRecord(Section):
    """One file that a run has read."""

    path: str = key(..., "Where it was, absolute.", midway="free")
    relative: str = key(..., "Where it was, from the recipe's folder.", midway="free")
    size: Annotated[Whole, Field(ge=0)] = key(..., "Bytes.", midway="free")
    sha256: str = key(..., "SHA-256 of its content.", midway="free")


class Recipe(Section):
    """All that determines a run; each task has its own subclass, with its own sections.

    Attributes:
        RULES: The rules between the keys of such a recipe.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        (("model",), model_faults),
        (("model",), width_faults),
        (("training",), training_faults),
        (("data",), data_faults),
        (("data", "model"), position_faults),
        (("training", "model"), replaced_weights),
    )

    task: str = key(..., "What is trained.", midway="refused")
    data: Data = key(..., "The data.", midway="logged")
    model: Model = key(Model(), "The Transformer.", midway="refused")
    training: Training = key(..., "How long, how fast, and what is kept.", midway="logged")
    evaluation: Evaluation = key(Evaluation(), "What validation measures.", midway="logged")
    about: About = key(About(), "What the model card of an export says.", midway="free", after="evaluation")
    files: Annotated[tuple[FileRecord, ...], Field(strict=False)] = key(
        (), "The files that were read; the trainer writes this into a run's recipe.", midway="free"
    )

    def replaced(self, section: str, **values: Any) -> Self:
        """The recipe with some keys of one section replaced; the values are taken as they are."""
        return self.model_copy(update={section: getattr(self, section).model_copy(update=values)})

    def completed(self) -> Self:
        """The recipe with the defaults filled in that one section takes from another."""
        recipe, model, schedule = self, self.model, self.training.schedule
        endless = isinstance(schedule, Cosine) and schedule.period_steps is not None
        if isinstance(schedule, Falling) and schedule.total_steps is None and not endless:
            whole = schedule.model_copy(update={"total_steps": self.training.steps})
            recipe = recipe.replaced("training", schedule=whole)
        if isinstance(model, SequenceModel) and model.positions == "learned" and model.max_length is None:
            recipe = recipe.replaced("model", max_length=self.data.longest)
        return recipe

    def warnings(self) -> Iterator[str]:
        """What is allowed and probably not meant, one line each."""
        training = self.training
        warmup = getattr(training.schedule, "warmup_steps", 0)
        if training.steps is not None and warmup > training.steps:
            yield (
                f"training.schedule.warmup_steps ({warmup}) is more than training.steps ({training.steps}): "
                "the learning rate never reaches its peak"
            )
        if training.steps is not None and training.validate_every > training.steps:
            yield (
                f"training.validate_every ({training.validate_every}) is more than training.steps "
                f"({training.steps}): validation runs only once, at the end"
            )
