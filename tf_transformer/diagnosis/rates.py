"""One batch at one learning rate, and at others where that one does not learn it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.training_step import TrainingModel

UPDATES, WARMUP = 300, 20
"""Updates of an attempt, at most, and those in which its rate rises."""
FACTORS = (0.1, 0.01, 10.0)
"""Of the recipe's rate, tried one after the other until one learns the batch."""
SAMPLED = 200
"""Updates of a schedule that are looked at for the highest rate."""
OPEN_END = 100_000
"""Updates of a schedule that has no end."""
TOLD_EVERY = 50


@dataclass(frozen=True)
class Attempt:
    """Updates with one batch at one rate.

    Args:
        rate: The learning rate, after the first updates.
        losses: The loss before each update.
        learnt: Whether the last one is near the floor.
    """

    rate: float
    losses: list[float]
    learnt: bool

    @property
    def updates(self) -> int:
        """How many updates there were."""
        return len(self.losses) - self.learnt


def highest_rate(schedule: Any, steps: int | None) -> float:
    """The highest rate of a schedule, of so many updates or of a schedule without an end."""
    warmup = int(getattr(schedule, "warmup_steps", 0))
    last = max(steps or max(OPEN_END, warmup), 1)
    places = np.unique(np.geomspace(1, last, min(SAMPLED, last)).astype(np.int64)).tolist()
    if warmup <= last:
        places.append(max(warmup, 1))
    return max(float(schedule(place - 1)) for place in places)


def try_rates(
    model: TrainingModel,
    batch: tuple[Any, Any],
    rate: float,
    near: float,
    hopeless: float,
    say: Callable[[str], None] = lambda line: None,
    updates: int = UPDATES,
) -> list[Attempt]:
    """Learns a batch at a rate, from the same weights at other rates where that does not do.

    Args:
        model: Compiled with `model.adjustable(Constant(peak=1.0))`. Its weights are spoilt.
        batch: ``(inputs, labels)``.
        rate: The first learning rate.
        near: The loss from which on the batch counts as learnt.
        hopeless: A loss that one must be below after half of the updates.
        say: Told how far it is.
        updates: Of an attempt, at most.

    Returns:
        The attempts; the last one has learnt the batch, or none has.
    """
    variables = {id(one): one for one in (*model.model.weights, *model.optimizer.variables)}
    first = [np.array(one) for one in variables.values()]
    # As `fit` takes it, but for the data, which stays the same.
    update = tf.function(model.train_step, autograph=False, jit_compile=model.jit_compile)
    attempts: list[Attempt] = []
    for factor in (1.0, *FACTORS):
        if attempts:
            for variable, value in zip(variables.values(), first, strict=True):
                variable.assign(value)
        attempts.append(_attempt(model, update, batch, factor * rate, near, hopeless, say, updates))
        if attempts[-1].learnt:
            break
    return attempts


def _attempt(
    model: TrainingModel,
    update: Any,
    batch: tuple[Any, Any],
    rate: float,
    near: float,
    hopeless: float,
    say: Callable[[str], None],
    updates: int,
) -> Attempt:
    losses: list[float] = []
    for number in range(updates):
        model.rate_factor.assign(rate * min(1.0, (number + 1) / WARMUP))
        loss = float(update(batch)["loss"])
        losses.append(loss)
        if not math.isfinite(loss) or (number >= updates // 2 and loss > hopeless):
            break
        if loss <= near:
            return Attempt(rate, losses, True)
        if number % TOLD_EVERY == 0:
            say(f"  rate {rate:.2g}, update {number:,}: loss {loss:.3f}")
    return Attempt(rate, losses, False)
