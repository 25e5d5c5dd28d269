"""The parts of recipes that all tasks with labels share: their measures, class weights, and unseen labels."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, Strict, Tag

from tf_transformer.recipe.base import Evaluation
from tf_transformer.recipe.fields import key, one_or_list
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


def idle_r_drop(training: LabelTraining, *dropouts: float) -> Iterator[str]:
    """A warning where R-Drop compares two passes that no dropout makes differ."""
    if training.r_drop and not any(dropouts):
        yield "training.r_drop compares two dropouts, and there is none: all of model's are 0"
