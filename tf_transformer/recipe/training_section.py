"""The part of the ``training`` section that all tasks share: how long, how fast, and what is kept."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

from tf_transformer.recipe.beginnings import RunWeights
from tf_transformer.recipe.fault import Fault, at
from tf_transformer.recipe.fields import MOST_UPDATES, OrAuto, Section, Whole, key
from tf_transformer.recipe.model_section import Model
from tf_transformer.recipe.schedules import Cosine, Falling, InverseSqrt, ReduceOnPlateau, Schedule
from tf_transformer.recipe.yaml_tree import Path

Updates = Annotated[Whole, Field(ge=1, le=MOST_UPDATES)]
_DEVICES = re.compile(r"auto|(cpu|gpu):[1-9]\d{0,3}")
DEVICES_RULE = "must be auto, or a kind and a number such as cpu:2 and gpu:4"


def names_devices(value: str) -> bool:
    """Whether a text says on which devices to run."""
    return _DEVICES.fullmatch(value) is not None


def _devices(value: Any) -> Any:
    if not isinstance(value, str) or not names_devices(value):
        raise PydanticCustomError("devices", DEVICES_RULE)
    return value


def micro_batch(of: str, what: str) -> Any:
    """The key that says how much of an update a device takes at once, ``micro_`` before the update's own.

    Args:
        of: The key that says how large an update is.
        what: What it is counted in here.
    """
    return key(
        None,
        f"{what} that a device takes at once; auto: as many as fit; null: all its share.",
        midway="logged",
        after=of,
    )


BatchSize = Annotated[Annotated[Whole, Field(ge=1, le=10**8)] | Literal["auto"], OrAuto]
MicroBatch = Annotated[Annotated[Whole, Field(ge=1, le=10**8)] | Literal["auto"], OrAuto] | None
Rate = Annotated[float, Field(ge=0, lt=1)]
Patterns = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Strict(False)]
MOST_PROFILED = 1000
"""Updates that a trace takes in: each is megabytes."""
_LIMITS: tuple[Path, ...] = (("training", "steps"), ("training", "epochs"), ("training", "minutes"))


def _traced(value: Any) -> Any:
    """Lets through two numbers of updates, the later one behind."""
    numbers = [
        int(one) if isinstance(one, float) and one.is_integer() else one
        for one in (value if isinstance(value, list | tuple) else ())
    ]
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in numbers)
    if value is None or (
        whole and len(numbers) == 2 and 1 <= numbers[0] <= numbers[1] < numbers[0] + MOST_PROFILED
    ):
        return value if value is None else tuple(numbers)
    raise PydanticCustomError(
        "traced",
        "must be the first and the last update that are traced, at most {most} of them, such as [100, 110]",
        {"most": MOST_PROFILED},
    )


Traced = Annotated[tuple[int, int], BeforeValidator(_traced)]


class Optimizer(Section):
    """Adam, or Adam with decoupled weight decay."""

    name: Literal["adam", "adamw"] = key("adam", "Adam, or Adam with weight decay.", midway="refused")
    beta_1: Rate = key(0.9, "Decay of the mean of gradients.", midway="logged")
    beta_2: Rate = key(0.98, "Decay of the mean of their squares.", midway="logged")
    epsilon: Annotated[float, Field(gt=0, le=1)] = key(1e-9, "Added to the divisor.", midway="logged")
    weight_decay: Annotated[float, Field(ge=0, le=1)] = key(
        None,
        "Share of a weight that an update takes away, times the rate (adamw only).",
        midway="logged",
        factory=lambda keys: 0.01 if keys.get("name") == "adamw" else 0.0,
    )
    clip_norm: Annotated[float, Field(gt=0)] | None = key(
        1.0, "Longer gradients are scaled down to this norm; null for never.", midway="logged"
    )


class EarlyStopping(Section):
    """Stops when validation gets no better."""

    # Each task has measures of its own; its default here is what the best checkpoint is chosen by.
    metric: str = key("loss", "Measure of the first dev set.", midway="free")
    patience: Annotated[Whole, Field(ge=1, le=10**6)] = key(
        10, "Validations in a row without a better one.", midway="free"
    )


class Divergence(Section):
    """What happens when the training loss runs away."""

    action: Literal["warn", "stop", "restore"] = key(
        "warn", "Say so, stop, or go on from the best checkpoint at a lower rate.", midway="free"
    )
    above: Annotated[float, Field(gt=0, le=1000)] = key(
        1.0, "Nats that the smoothed loss may lie above its lowest value.", midway="free"
    )
    patience: Updates = key(300, "Updates in a row that it may do so.", midway="free")
    rate_factor: Annotated[float, Field(gt=0, lt=1)] = key(
        0.5, "What a restore multiplies the learning rate by.", midway="free"
    )
    restores: Annotated[Whole, Field(ge=1, le=1000)] = key(
        3, "Restores before the training stops.", midway="free"
    )


class Lora(Section):
    """Training through low-rank adapters of matrices (LoRA); all other weights stay as they are."""

    rank: Annotated[Whole, Field(ge=1, le=4096)] = key(
        8, "Rank of an adapter: it has rank numbers for each row and column.", midway="refused"
    )
    alpha: Annotated[float, Field(gt=0, le=10**4)] = key(
        16.0, "Adapters are multiplied by alpha / rank.", midway="refused"
    )
    targets: Patterns = key(
        ("*_kernel",),
        "Names of matrices that have one, by pattern; by default those of attention and feed-forward.",
        midway="refused",
    )
    also: Patterns = key(
        (), "Names of weights that are trained whole beside them, such as */norm and head.", midway="refused"
    )


class Training(Section):
    """How long, how fast, and what is kept. The first of steps, epochs and minutes to be reached ends it.

    Each task adds the key that says how large an update is, which ``BUDGET`` names, and has measures of its
    own in ``STOPPING``.
    """

    BUDGET: ClassVar[str]
    STOPPING: ClassVar[type[EarlyStopping]] = EarlyStopping

    steps: Updates | None = key(None, "Optimizer updates.", midway="free", example=20000)
    epochs: Updates | None = key(None, "Passes over the training data.", midway="free")
    minutes: Annotated[float, Field(gt=0, le=10**7)] | None = key(
        None, "Minutes of training, summed over continued pieces.", midway="free"
    )
    precision: Literal["auto", "float32", "mixed_bfloat16", "mixed_float16"] = key(
        "auto", "Number format; auto takes what this machine is fastest in, once.", midway="refused"
    )
    seed: Annotated[Whole, Field(ge=0, lt=2**31)] = key(
        1, "Seed of weights, order of the data, and dropout.", midway="refused"
    )
    devices: Annotated[str, BeforeValidator(_devices)] = key(
        "auto", "Of each host: auto (all GPUs, else the CPU), cpu:2 or gpu:4.", midway="free"
    )
    optimizer: Optimizer = key(Optimizer(), "What turns gradients into updates.", midway="logged")
    schedule: Schedule = key(InverseSqrt(), "The learning rate over the updates.", midway="logged")
    label_smoothing: Rate = key(0.1, "Probability spread over the wrong answers.", midway="logged")
    validate_every: Updates = key(500, "Updates between validations on the whole dev data.", midway="free")
    checkpoint_every: Updates = key(500, "Updates between checkpoints to continue from.", midway="free")
    checkpoint_minutes: Annotated[float, Field(gt=0, le=10**7)] | None = key(
        15.0, "Minutes between checkpoints, where updates take long; null for never.", midway="free"
    )
    max_skipped: Updates = key(
        25, "Updates in a row without a finite loss and gradient that stop the training.", midway="free"
    )
    divergence: Divergence = key(Divergence(), "What happens when the loss runs away.", midway="free")
    keep: Annotated[Whole, Field(ge=1, le=1000)] = key(
        5, "Validated checkpoints kept beside the best and the last.", midway="free"
    )
    average: Annotated[Whole, Field(ge=0, le=1000)] = key(
        0,
        "Kept checkpoints averaged when training ends, used where dev's measure or loss is better; 0: none.",
        midway="free",
    )
    average_by: Literal["last", "best"] = key(
        "last", "Keep and average the last validated checkpoints, or the best ones by dev.", midway="free"
    )
    ema: Rate | None = key(
        None,
        "Decay of a moving average of the weights, such as 0.999, which is what answers; null for none.",
        midway="logged",
    )
    early_stopping: EarlyStopping | None = key(
        None, "Stop when validation gets no better; null for never.", midway="free"
    )
    profile: Traced | None = key(
        None, "First and last update of a trace for TensorBoard's Profile tab; null for none.", midway="free"
    )
    initialize_from: RunWeights | None = key(
        None,
        "Run, or a checkpoint in it, whose weights and tokenizer training begins with; null for fresh ones.",
        midway="refused",
    )
    freeze: Patterns = key(
        (), "Names of weights that stay as they are, by pattern, such as encoder/*.", midway="refused"
    )
    rates: dict[str, Annotated[float, Field(gt=0, le=1000)]] = key(
        {}, "What the learning rate of weights is multiplied by, for names by pattern.", midway="logged"
    )
    lora: Lora | None = key(
        None, "Train low-rank adapters of matrices; null for the weights themselves.", midway="refused"
    )

    @property
    def budget(self) -> int | Literal["auto"]:
        """How large an update is, in what the task counts."""
        found: int | Literal["auto"] = getattr(self, self.BUDGET)
        return found

    @property
    def micro_budget(self) -> int | Literal["auto"] | None:
        """How much of an update a device takes at once; None for all that it has."""
        found: int | Literal["auto"] | None = getattr(self, f"micro_{self.BUDGET}", None)
        return found

    @property
    def best_by(self) -> str:
        """The measure of the first dev set by which a checkpoint is the best."""
        return (self.early_stopping or self.STOPPING()).metric


def training_faults(training: Training) -> Iterator[Fault]:
    """Keys of the section that contradict each other."""
    if training.steps is None and training.epochs is None and training.minutes is None:
        rule = "give at least one of steps, epochs and minutes, such as training.steps: 20000"
        yield Fault(("training",), rule, others=_LIMITS)
    if training.average > training.keep:
        rule = f"must be at most training.keep, which is {training.keep}"
        yield Fault(("training", "average"), rule, training.average, others=(at("training.keep"),))
    if training.budget == "auto" and training.micro_budget == "auto":
        rule = f"must be a number where training.{training.BUDGET} is auto: only one of them can be found"
        place = ("training", f"micro_{training.BUDGET}")
        yield Fault(place, rule, "auto", others=(("training", training.BUDGET),))
    if training.freeze and training.lora is not None:
        rule = "must be left out with training.lora, which trains its targets and what also names alone"
        yield Fault(("training", "freeze"), rule, list(training.freeze), others=(("training", "lora"),))
    optimizer, schedule = training.optimizer, training.schedule
    if optimizer.name == "adam" and optimizer.weight_decay:
        rule = "is adamw's, and training.optimizer.name is adam"
        others = (at("training.optimizer.name"),)
        yield Fault(("training", "optimizer", "weight_decay"), rule, optimizer.weight_decay, others=others)
    if isinstance(schedule, Cosine) and (schedule.period_steps or schedule.period_factor):
        yield from _falling_again(schedule)
    elif isinstance(schedule, Falling):
        yield from _falling(training, schedule)
    elif isinstance(schedule, ReduceOnPlateau):
        yield from _reduced(training, schedule)


def _falling(training: Training, schedule: Falling) -> Iterator[Fault]:
    where, warmup = at("training.schedule.total_steps"), at("training.schedule.warmup_steps")
    others = (*_LIMITS, where, warmup, at("training.schedule.name"))
    total = schedule.total_steps if schedule.total_steps is not None else training.steps
    if total is None:
        if training.epochs is None and training.minutes is not None:
            yield Fault(where, "is required where training has neither steps nor epochs", others=others)
    elif schedule.total_steps is not None and total <= schedule.warmup_steps:
        rule = f"must be greater than training.schedule.warmup_steps, which is {schedule.warmup_steps}"
        yield Fault(where, rule, total, others=others)
    elif total <= schedule.warmup_steps:
        rule = f"must be less than training.steps, which is {total}"
        yield Fault(warmup, rule, schedule.warmup_steps, others=others)


def _falling_again(schedule: Cosine) -> Iterator[Fault]:
    where, period = at("training.schedule.total_steps"), at("training.schedule.period_steps")
    if schedule.period_steps is None:
        rule = "is for a cosine that starts again, and training.schedule.period_steps is null"
        factor = at("training.schedule.period_factor")
        yield Fault(factor, rule, schedule.period_factor, others=(period,))
    elif schedule.total_steps is not None:
        rule = "must be left out with training.schedule.period_steps: falls that start again have no end"
        yield Fault(where, rule, schedule.total_steps, others=(period,))


def _reduced(training: Training, schedule: ReduceOnPlateau) -> Iterator[Fault]:
    stopping = training.early_stopping
    if stopping is not None and stopping.patience <= schedule.patience:
        rule = (
            f"must be greater than training.schedule.patience, which is {schedule.patience}, or training "
            "ends before the rate ever falls"
        )
        patience = at("training.early_stopping.patience")
        others = (at("training.schedule.patience"), at("training.schedule.name"))
        yield Fault(patience, rule, stopping.patience, others=others)


def replaced_weights(training: Training, model: Model) -> Iterator[Fault]:
    """Weights from elsewhere that those of a run would be put over."""
    for name in ("initialize_encoder_from", "word_vectors"):
        value = getattr(model, name, None)
        if training.initialize_from is not None and value is not None:
            rule = "would be replaced by the weights of training.initialize_from: leave one of them out"
            others = (at("training.initialize_from"),)
            yield Fault(("model", name), rule, str(value), others=others)


def idle_r_drop(alpha: float | None, *dropouts: float) -> Iterator[str]:
    """A warning where R-Drop compares two passes that no dropout makes differ."""
    if alpha and not any(dropouts):
        yield "training.r_drop compares two dropouts, and there is none: all of model's are 0"
