"""One batch of a recipe, learnt by heart: what cannot learn that cannot learn anything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tf_transformer.beginning import with_precision
from tf_transformer.build import problem_of
from tf_transformer.build.optimization import build_schedule, build_training_model
from tf_transformer.build.problem import Problem
from tf_transformer.data.batching import Batch
from tf_transformer.data.pipeline import batch_of, columns_in
from tf_transformer.diagnosis.rates import Attempt, highest_rate, try_rates
from tf_transformer.diagnosis.verdict import learning_sign
from tf_transformer.evaluation.loss_floor import LossFloor, loss_floor
from tf_transformer.evaluation.signs import Sign, batch_signs, mask_sign
from tf_transformer.presets import PAD_ID, UNSEEN_LABEL
from tf_transformer.recipe import Recipe
from tf_transformer.schedules import Constant

ROWS, POSITIONS = 32, 1024
"""Of the batch that are learnt, at most: a small part is learnt sooner, and shows the same."""


@dataclass(frozen=True)
class OneBatch:
    """What learning one batch by heart has shown.

    Args:
        rows: Examples that were learnt.
        of: Examples of the batch that they are the beginning of.
        row: What an example is called.
        where: File and line of the first one.
        floor: The bounds of its loss; None where no label counts.
        label_smoothing: That is part of them.
        near: The loss from which on it counts as learnt.
        rate: The highest learning rate of the recipe.
        attempts: What was trained, the recipe's own rate first; nothing where a sign was found before.
        signs: What is wrong; nothing where all is right.
    """

    rows: int
    of: int
    row: str
    where: str
    floor: LossFloor | None
    label_smoothing: float
    near: float
    rate: float
    attempts: Sequence[Attempt]
    signs: Sequence[Sign]


def overfit_one_batch(recipe: Recipe, say: Callable[[str], None] = lambda line: None) -> OneBatch:
    """Trains the model of a recipe on one real batch of it, without all that keeps it from learning by heart.

    First the data, the batch and the model are looked at: signs that are certain end the trial, since what
    is learnt says nothing then. Where the batch is not learnt at the highest rate of the recipe's schedule,
    the same is tried at others. No run is begun and none is touched.

    Args:
        recipe: A checked recipe.
        say: Told what a person may want to know meanwhile, line by line.

    Raises:
        ProjectError: When the recipe or its data do not allow it.
    """
    problem = problem_of(plain(with_precision(recipe, say)))
    examples = problem.read()
    side = problem.make_side(examples)
    encoded = problem.encode(examples, side)
    plan = problem.plan(examples, encoded, side)
    whole = plan.epoch(0)[0]
    batch = beginning(whole)
    inputs, labels = batch_of(columns_in(0, encoded, plan), batch, side.assemble)
    model = problem.model(side, problem.recipe.training.precision)
    for line in problem.first_weights(model, side):
        say(line)
    signs = [*problem.signs(examples, side), *batch_signs(model, inputs, labels)]
    if not signs and (leak := mask_sign(model, inputs, labels)) is not None:
        signs.append(leak)
    training = problem.recipe.training
    rate = highest_rate(
        build_schedule(training, problem.recipe.model.hidden_dim, plan.num_batches(0)),
        training.steps or (training.epochs or 0) * plan.num_batches(0) or None,
    )
    floor = None if "labels" in {sign.name for sign in signs} else _floor(problem, model, inputs, labels)
    near, attempts = 0.0, []
    if floor is not None:
        near = floor.lowest + NEAR * (max(floor.frequencies, floor.lowest + LEAST) - floor.lowest)
    if floor is not None and not signs:
        trained, _ = build_training_model(problem, model, Constant(peak=1.0))
        attempts = try_rates(trained, (inputs, labels), rate, near, floor.frequencies, say)
        signs += learning_sign(attempts, floor, near)
    where = encoded.where(batch.rows[:1])[0]
    return OneBatch(
        rows=len(batch.rows),
        of=len(whole.rows),
        row=problem.WORDS.row,
        where=where,
        floor=floor,
        label_smoothing=training.label_smoothing,
        near=near,
        rate=rate,
        attempts=attempts,
        signs=signs,
    )


NEAR = 0.05
"""Share of the way from what label frequencies alone give to the floor that may be left of a batch learnt."""
LEAST = 0.2
"""Nats that this way counts as at least: all labels of a batch may be the same."""


def plain(recipe: Recipe) -> Recipe:
    """A recipe without what keeps a model from learning by heart: dropouts, decay, averages, sampling.

    Label smoothing stays, since the floor of the loss is known with it.
    """
    model = {name: 0.0 for name in type(recipe.model).model_fields if name.endswith("dropout")}
    own = type(recipe.training).model_fields
    off = ("ema", "r_drop", "subword_sampling", "class_weights", f"micro_{recipe.training.BUDGET}")
    optimizer = recipe.training.optimizer.model_copy(update={"weight_decay": 0.0})
    training: Mapping[str, Any] = {name: None for name in off if name in own}
    return recipe.replaced("model", **model).replaced("training", optimizer=optimizer, **training)


def beginning(batch: Batch) -> Batch:
    """The first rows of a batch, as many as are learnt; lengths stay, and with them the padding."""
    longest = max(batch.lengths.values(), default=1)
    count = max(1, min(len(batch.rows), ROWS, POSITIONS // longest))
    names = [name for name in ("rows", "starts", "sizes") if hasattr(batch, name)]
    return replace(batch, **{name: getattr(batch, name)[:count] for name in names})


def _floor(problem: Problem[Any], model: Any, inputs: Any, labels: Any) -> LossFloor:
    outputs = int(model(inputs, training=False).shape[-1])
    ignored = PAD_ID if np.asarray(labels).ndim == 2 else UNSEEN_LABEL
    return loss_floor(inputs, labels, outputs, problem.recipe.training.label_smoothing, ignored)
