"""The learning-rate range test: real updates at a rate that grows until the loss runs away."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.beginning import with_precision
from tf_transformer.build import problem_of
from tf_transformer.build.optimization import build_training_model
from tf_transformer.data.pipeline import Position, training_dataset
from tf_transformer.errors import RunError
from tf_transformer.recipe import Recipe
from tf_transformer.schedules import Constant
from tf_transformer.training_step import TrainingModel

LOWEST, HIGHEST, UPDATES = 1e-6, 1.0, 100
MEMORY = 0.9
"""Share of the old value in the smoothed loss: it looks back over about ten updates."""
ABOVE = 1.0
"""Nats above its lowest value at which the smoothed loss has run away."""


@dataclass(frozen=True)
class RateRange:
    """What a range test has seen, one value an update.

    Args:
        rates: The learning rate of each update.
        losses: The loss of each update's batch, before the update.
        smoothed: Its exponential mean, freed of its bias towards 0.
        exploded: Whether the loss ran away before the highest rate was reached.
    """

    rates: list[float]
    losses: list[float]
    smoothed: list[float]
    exploded: bool

    @property
    def lowest(self) -> float:
        """The rate of the update at which the smoothed loss was lowest."""
        return self.rates[int(np.argmin(self.smoothed))]

    @property
    def suggested(self) -> float | None:
        """A rate to train at: where the smoothed loss has fallen half of its way; None if it never fell.

        By then learning is in full swing, and the rate at which it turns into its opposite is still some way
        off. A single slope would say less, since batches differ. The way begins after a tenth of the
        updates, when enough losses have come together in the mean.
        """
        begin = len(self.smoothed) // 10
        start, end = self.smoothed[begin], min(self.smoothed[begin:])
        if end >= start:
            return None
        half = (start + end) / 2
        return next(rate for rate, loss in self._from(begin) if loss <= half)

    def _from(self, begin: int) -> Iterable[tuple[float, float]]:
        return zip(self.rates[begin:], self.smoothed[begin:], strict=True)


def rate_range_test(
    model: TrainingModel,
    batches: Iterable[Any],
    *,
    lowest: float = LOWEST,
    highest: float = HIGHEST,
    updates: int = UPDATES,
) -> RateRange:
    """Updates a model at rates that grow by the same factor each time, and records the loss.

    "Cyclical Learning Rates for Training Neural Networks" (Smith, 2017), section 3.3, the rate growing
    exponentially. It ends at the highest rate, or as soon as an update cannot be taken or the smoothed loss
    is a nat above its lowest value.

    Args:
        model: Compiled with `model.adjustable(unit_rate())`, so that its `rate_factor` is the rate. Its
            weights are spoilt.
        batches: A `tf.data.Dataset` of at least `updates` batches, as for training.
        lowest: The first rate, more than 0.
        highest: The last rate.
        updates: How many updates there are from one to the other, at least 2.

    Raises:
        RunError: If not even the first update can be taken.
        TypeError: If an argument is no number.
        ValueError: If one is out of range.
    """
    lowest, updates = finite_number("lowest", lowest, 0.0), whole_number("updates", updates, 2)
    highest = finite_number("highest", highest, lowest)
    if not 0 < lowest < highest:
        raise ValueError(
            f"`lowest` must be more than 0 and less than `highest`. Received: {lowest:g} and {highest:g}"
        )
    sweep = _Sweep(np.geomspace(lowest, highest, updates).tolist())
    # Once, without epochs: the callback stops it.
    model.fit(batches, epochs=1, steps_per_epoch=updates, verbose=0, shuffle=False, callbacks=[sweep])
    if not sweep.losses:
        raise RunError(f"the first update, at a rate of {lowest:g}, has no finite loss and gradient")
    taken = len(sweep.losses)
    return RateRange(sweep.rates[:taken], sweep.losses, sweep.smoothed, sweep.exploded)


def rate_range_of(
    recipe: Recipe,
    *,
    lowest: float = LOWEST,
    highest: float = HIGHEST,
    updates: int = UPDATES,
    say: Callable[[str], None] = lambda line: None,
) -> RateRange:
    """A range test of what a recipe would train, on its own data; no run is begun and none is touched.

    The rates take the place of the recipe's schedule, all else is as in its training.

    Args:
        recipe: A checked recipe.
        lowest: The first rate, more than 0.
        highest: The last rate.
        updates: How many updates there are from one to the other, at least 2.
        say: Told what a person may want to know meanwhile, line by line.

    Raises:
        ProjectError: When the recipe or its data do not allow it.
        ValueError: If a number is out of range.
    """
    problem = problem_of(with_precision(recipe, say))
    examples = problem.read()
    side = problem.make_side(examples)
    encoded = problem.encode(examples, side)
    plan = problem.plan(examples, encoded, side)
    say(problem.describe(encoded, plan))
    training = problem.recipe.training
    if training.budget == "auto":
        say(f"training.{training.BUDGET} is found when training begins; here it is {plan.batch_tokens:,}")
    model = problem.model(side, training.precision)
    for line in problem.first_weights(model, side):
        say(line)
    trained, _ = build_training_model(problem, model, unit_rate())
    batches = training_dataset(encoded, plan, side.assemble, Position(0, 0), augment=problem.augment)
    return rate_range_test(trained, batches, lowest=lowest, highest=highest, updates=updates)


def unit_rate() -> Constant:
    """The schedule of a model whose `rate_factor` is to be its rate."""
    return Constant(peak=1.0)


class _Sweep(keras.callbacks.Callback):
    """Sets the rate before each update, and follows the loss after it."""

    def __init__(self, rates: list[float]) -> None:
        super().__init__()
        self.rates = rates
        self.losses: list[float] = []
        self.smoothed: list[float] = []
        self.exploded = False
        self._mean = 0.0

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.model.rate_factor.assign(self.rates[batch])

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        assert logs is not None
        loss = float(logs["loss"])
        if not math.isfinite(loss) or int(logs["taken"]) == 0:
            self._stop()
            return
        self._mean = MEMORY * self._mean + (1 - MEMORY) * loss
        self.losses.append(loss)
        self.smoothed.append(self._mean / (1 - MEMORY ** len(self.losses)))
        if self.smoothed[-1] > min(self.smoothed) + ABOVE:
            self._stop()

    def _stop(self) -> None:
        self.exploded = True
        self.model.stop_training = True
