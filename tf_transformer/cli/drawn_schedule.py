"""The learning rate of a recipe, update by update."""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from tf_transformer.build import problem_of
from tf_transformer.build.optimization import build_schedule
from tf_transformer.errors import counted
from tf_transformer.recipe import Recipe

_POINTS = 2000
_WARMUPS = 10
"""Times the warm-up that is drawn where nothing says how many updates there will be."""

Numbers = np.ndarray[Any, Any]


def rates_of(recipe: Recipe, updates: int | None, say: Callable[[str], None]) -> tuple[Numbers, Numbers]:
    """The numbers of updates that are drawn, and their rates.

    Args:
        recipe: A resolved recipe.
        updates: How far; None for what the recipe says.
        say: Told what has to be found out first, and what was assumed.
    """
    training: Any = recipe.training
    settings = training.schedule
    # An exponential fall, or one to the end of training, may be counted in epochs: the data says how long.
    by_epochs = settings.name == "exponential" and settings.unit == "epochs"
    ends = settings.name in ("cosine", "linear") and getattr(settings, "period_steps", None) is None
    open_end = ends and settings.total_steps is None and training.steps is None
    needs_data = by_epochs or open_end or (updates is None and training.steps is None and training.epochs)
    batches = _batches_in_epoch(recipe, say) if needs_data else 1
    schedule = build_schedule(training, recipe.model.hidden_dim, batches)
    last = updates or training.steps or (training.epochs * batches if training.epochs else None)
    if last is None:
        last = getattr(settings, "total_steps", None) or _WARMUPS * max(settings.warmup_steps, 100)
        say(f"the recipe says how long in minutes alone: {counted(last, 'update')} are drawn (--updates)")
    places = np.linspace(1, last, min(last, _POINTS)).round().astype(np.int64)
    warm = {min(max(settings.warmup_steps + more, 1), last) for more in (-1, 0, 1)}
    places = np.unique([*places, *warm])
    return places, np.asarray(ops.convert_to_numpy(schedule(places - 1)))


def _batches_in_epoch(recipe: Recipe, say: Callable[[str], None]) -> int:
    problem = problem_of(recipe)
    examples = problem.read()
    side = problem.make_side(examples)
    plan = problem.plan(examples, problem.encode(examples, side), side)
    batches: int = plan.num_batches(0)
    say(f"{counted(batches, 'update')} an epoch")
    return batches
