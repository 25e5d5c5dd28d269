"""From a recipe to a model, its optimizer and its schedule: the last place that sees a recipe object."""

from typing import Any

import keras

from tf_transformer.errors import RecipeError
from tf_transformer.models import Transformer
from tf_transformer.optimizers import Adam, AdamW
from tf_transformer.recipe import Optimizer, Training, TranslateRecipe
from tf_transformer.schedules import Constant, ExponentialDecay, WarmupCosine, WarmupInverseSqrt, WarmupLinear
from tf_transformer.tasks import SearchOptions, Translator
from tf_transformer.text import Preprocessor


def build_transformer(recipe: TranslateRecipe, preprocessor: Preprocessor, precision: str) -> Transformer:
    """The model of a recipe, with fresh weights drawn from ``training.seed``.

    Args:
        recipe: Its ``model``, ``data`` (lengths) and ``training.seed`` are read.
        preprocessor: Says how large the vocabularies are.
        precision: Name of the Keras policy; ``"float32"`` for decoding.
    """
    keras.utils.set_random_seed(recipe.training.seed)
    sizes = recipe.model
    vocabulary: dict[str, Any]
    if recipe.text.shared:
        vocabulary = {"vocabulary_size": preprocessor.target_vocabulary_size}
    else:
        vocabulary = {
            "source_vocabulary_size": preprocessor.source_vocabulary_size,
            "target_vocabulary_size": preprocessor.target_vocabulary_size,
        }
    return Transformer(
        **vocabulary,
        num_layers=sizes.num_layers,
        hidden_dim=sizes.hidden_dim,
        num_heads=sizes.num_heads,
        intermediate_dim=sizes.intermediate_dim,
        activation=sizes.activation,
        norm=sizes.norm,
        positions=sizes.positions,
        max_length=sizes.max_length,
        dropout=sizes.dropout,
        attention_dropout=sizes.attention_dropout,
        activation_dropout=sizes.activation_dropout,
        tie_embeddings=sizes.tie_embeddings,
        dtype=precision,
        name="transformer",
    )


def build_translator(recipe: TranslateRecipe, model: Transformer, preprocessor: Preprocessor) -> Translator:
    """The task around a model, searching as the recipe's ``decoding`` says."""
    decoding = recipe.decoding
    options = SearchOptions(
        beam_size=decoding.beam,
        length_penalty=decoding.length_penalty,
        length_formula=decoding.length_formula,
        max_length_factor=decoding.max_length_factor,
        max_length_margin=decoding.max_length_margin,
    )
    return Translator(model, preprocessor, options, max_source_length=recipe.data.max_source_length)


def build_optimizer(
    settings: Optimizer, schedule: keras.optimizers.schedules.LearningRateSchedule, precision: str
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
        case "constant":
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
