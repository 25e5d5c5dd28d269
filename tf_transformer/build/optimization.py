"""From a recipe to an optimizer, its schedule, and the model that it updates."""

from typing import Any

import keras

from tf_transformer.build.problem import Problem
from tf_transformer.build.tuning import rates_of, tune
from tf_transformer.errors import RecipeError
from tf_transformer.optimizers import Adam, AdamW
from tf_transformer.recipe import Optimizer, Training
from tf_transformer.schedules import (
    Constant,
    CosineRestarts,
    ExponentialDecay,
    WarmupCosine,
    WarmupInverseSqrt,
    WarmupLinear,
)
from tf_transformer.training_step import TrainingModel


def build_training_model(
    problem: Problem[Any], model: Any, schedule: keras.optimizers.schedules.LearningRateSchedule | None
) -> tuple[TrainingModel, Any]:
    """A compiled ``TrainingModel`` around a problem's model, and its rate.

    Args:
        problem: What is learnt, and by which optimizer.
        model: As the problem has made it.
        schedule: The learning rate; None for trials, at a rate of 0.
    """
    training = problem.recipe.training
    micro = training.micro_budget
    trained = TrainingModel(
        model,
        training.label_smoothing,
        ema=training.ema,
        micro_batch=None if micro == "auto" else micro,
        adapters=tune(model, training),
        **problem.loss_options,
    )
    rate = 0.0 if schedule is None else trained.adjustable(schedule)
    trained.compile(optimizer=build_optimizer(training.optimizer, rate, training.precision))
    trained.optimizer.build(trained.trained)
    _set_rates(trained, rates_of(model, training))
    return trained, rate


def _set_rates(trained: TrainingModel, factors: dict[str, float]) -> None:
    """Has the optimizer multiply the rates of weights, or of their adapters, by path."""
    if factors:
        adapters = trained.adapters
        paths = [one.path if adapters is None else adapters.path(one) for one in trained.trained]
        found = {place: factors[path] for place, path in enumerate(paths) if path in factors}
        optimizer: Any = trained.optimizer
        getattr(optimizer, "inner_optimizer", optimizer).factors = found


def build_optimizer(
    settings: Optimizer, schedule: keras.optimizers.schedules.LearningRateSchedule | float, precision: str
) -> keras.optimizers.Optimizer:
    """Adam or AdamW; wrapped for loss scaling under ``mixed_float16``."""
    common = {
        # Keras counts the names of optimizers; a fixed one keeps the paths in checkpoints the same.
        "name": settings.name,
        "learning_rate": schedule,
        "beta_1": settings.beta_1,
        "beta_2": settings.beta_2,
        "epsilon": settings.epsilon,
        "global_clipnorm": settings.clip_norm,
    }
    if settings.name == "adamw":
        optimizer = AdamW(weight_decay=settings.weight_decay, **common)
        # Decay pulls matrices towards zero; biases and the gains of layer norms are left alone.
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    else:
        optimizer = Adam(**common)
    if precision == "mixed_float16":
        return keras.optimizers.LossScaleOptimizer(optimizer, name="loss_scale")
    return optimizer


def build_schedule(
    training: Training, hidden_dim: int, batches_in_epoch: int
) -> keras.optimizers.schedules.LearningRateSchedule:
    """The learning rate over the updates.

    Args:
        training: Its ``schedule``; ``steps`` or ``epochs`` where a falling schedule has no end of its own.
        hidden_dim: Width of the model, for ``noam``.
        batches_in_epoch: Updates of an epoch, for decay by epochs.
    """
    settings = training.schedule
    match settings.name:
        case "noam":
            return WarmupInverseSqrt(
                hidden_dim=hidden_dim, warmup_steps=settings.warmup_steps, scale=settings.scale
            )
        case "inverse_sqrt":
            return WarmupInverseSqrt(peak=settings.peak, warmup_steps=settings.warmup_steps)
        case "constant" | "reduce_on_plateau":  # what validations make of it, `Plateau` does
            return Constant(peak=settings.peak, warmup_steps=settings.warmup_steps)
        case "exponential":
            unit = batches_in_epoch if settings.unit == "epochs" else 1
            return ExponentialDecay(
                peak=settings.peak,
                decay_rate=settings.decay_rate,
                decay_steps=settings.decay_steps * unit,
                warmup_steps=settings.warmup_steps,
                staircase=settings.staircase,
            )
    if settings.name == "cosine" and settings.period_steps is not None:
        return CosineRestarts(
            peak=settings.peak,
            period_steps=settings.period_steps,
            period_factor=settings.period_factor or 1,
            warmup_steps=settings.warmup_steps,
            final_fraction=settings.final_fraction,
        )
    schedule = WarmupCosine if settings.name == "cosine" else WarmupLinear
    return schedule(
        peak=settings.peak,
        total_steps=settings.total_steps or training.steps or _steps_of(training, batches_in_epoch),
        warmup_steps=settings.warmup_steps,
        final_fraction=settings.final_fraction,
    )


def _steps_of(training: Training, batches_in_epoch: int) -> int:
    if training.epochs is None:
        raise RecipeError(
            "training.schedule.total_steps: must be given, or training.steps or training.epochs, when the "
            f"rate falls to a known end; received: schedule {training.schedule.name} and only minutes"
        )
    return training.epochs * batches_in_epoch
