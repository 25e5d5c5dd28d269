"""The parts of recipes that all tasks with labels share: their measures, class weights, and unseen labels."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Strict, Tag

from tf_transformer.recipe.base import Evaluation
from tf_transformer.recipe.fault import Fault
from tf_transformer.recipe.fields import key, one_or_list
from tf_transformer.recipe.model_section import Model
from tf_transformer.recipe.training_section import EarlyStopping, Training

Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Strict(False)]
Pooling = Literal["mean", "first", "max", "attention"]
Poolings = Annotated[tuple[Pooling, ...], Strict(False), Field(min_length=1)]
OnePoolingOrMore = Annotated[
    Annotated[Pooling, Tag("<one>")] | Annotated[Poolings, Tag("<list>")], Discriminator(one_or_list)
]


class LabelStopping(EarlyStopping):
    """Stops when validation gets no better."""

    metric: Literal["accuracy", "macro_f1", "loss"] = key(
        "accuracy", "Measure of the first dev set.", midway="free"
    )


class LabelTraining(Training):
    """How long, how fast, and what is kept. The first of steps, epochs and minutes to be reached ends it."""

    STOPPING: ClassVar[type[EarlyStopping]] = LabelStopping

    class_weights: Literal["balanced"] | dict[str, Annotated[float, Field(ge=0, le=10**6)]] | None = key(
        None,
        "Weights of the loss by label: balanced (rare labels weigh more), a number for each; null for none.",
        midway="logged",
        after="label_smoothing",
    )
    r_drop: Annotated[float, Field(gt=0, le=1000)] | None = key(
        None,
        "R-Drop's alpha, such as 5: two dropouts of each batch must agree, at twice the cost; null for one.",
        midway="logged",
        after="average_by",
    )
    early_stopping: LabelStopping | None = key(
        None, "Stop when validation gets no better; null for never.", midway="free"
    )


class LabelEvaluation(Evaluation):
    """What validation measures."""

    unseen_labels: Literal["error", "wrong"] = key(
        "error",
        "A label of dev or test that train does not have: stop and name it, or count its examples as wrong.",
        midway="logged",
    )
    leave_out: Names = key((), "Classes that macro_f1 leaves out.", midway="logged")


class Pooled(Model):
    """An encoder whose states become one vector; each task says which poolings it has."""

    if TYPE_CHECKING:
        pooling: Any
        pooled_dropout: float

    @property
    def poolings(self) -> tuple[str, ...]:
        """The poolings, also where there is one."""
        return self.pooling if isinstance(self.pooling, tuple) else (self.pooling,)

    @property
    def dropouts(self) -> tuple[float, ...]:
        """See `Model`."""
        return (*super().dropouts, self.pooled_dropout)


def pooling_faults(model: Pooled) -> Iterator[Fault]:
    """A pooling that is there twice, which would only double the head."""
    for kind in dict.fromkeys(model.poolings):
        if model.poolings.count(kind) > 1:
            yield Fault(("model", "pooling"), f"has {kind} twice", model.pooling)
