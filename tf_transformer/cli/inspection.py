"""What a model is fed with, for eyes: a real batch as it gets it, and the model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.build import Problem, load_run, problem_of
from tf_transformer.build.problem import Examples
from tf_transformer.cli.answering import FACES
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import batch_of, columns_in
from tf_transformer.data.prepared import StoredColumn
from tf_transformer.errors import counted
from tf_transformer.presets import UNKNOWN_ID
from tf_transformer.recipe import Recipe


def inspect_recipe(recipe: Recipe, rows: int) -> Iterator[str]:
    """The first batch and the model that a recipe would train.

    Args:
        recipe: A resolved recipe.
        rows: How many rows of the batch to show.

    Yields:
        Lines.
    """
    problem = problem_of(recipe)
    examples = problem.read()
    yield from examples.report
    side = problem.make_side(examples)
    yield from _batch(problem, examples, side, rows)
    yield from _summary(problem.model(side, "float32"))


def inspect_run(folder: Path, rows: int) -> Iterator[str]:
    """The first batch and the model of a run, with the tokenizer and data that it has."""
    loaded = load_run(folder)
    examples = loaded.problem.read()
    yield from examples.report
    yield from _batch(loaded.problem, examples, loaded.task.side, rows)
    yield from _summary(loaded.task.model)


def _batch(problem: Problem[Any], examples: Examples, side: Any, rows: int) -> Iterator[str]:
    encoded = problem.encode(examples, side)
    plan, training = problem.plan(examples, encoded, side), problem.recipe.training
    batch, columns = plan.epoch(0)[0], columns_in(0, encoded, plan)
    inputs, labels = batch_of(columns, batch, side.assemble)
    yield ""
    if training.budget == "auto":
        yield f"training.{training.BUDGET} is found when training begins; here it is {plan.batch_tokens:,}"
    shapes = counted(len(plan.shapes), "shape")
    updates = counted(plan.num_batches(0), "update")
    yield f"{counted(len(encoded), problem.WORDS.row)}, {updates} an epoch, {shapes} of batches"
    yield from _columns(encoded, columns, plan.padding())
    shown = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in inputs.items())
    size = counted(batch.tokens, f"real {problem.WORDS.unit}")
    yield f"first batch: {shown}, labels {list(labels.shape)}, {size}"
    row_lines = FACES[problem.recipe.task].row_lines
    for row in range(min(rows, len(batch.rows))):
        yield ""
        yield from row_lines(side, encoded.where(batch.rows[[row]])[0], inputs, labels, row)


def _columns(encoded: EncodedCorpus, columns: Any, shares: dict[str, float]) -> Iterator[str]:
    """Padding and unknown pieces of the columns of ids."""
    if shares:
        named = (f"{shares[name]:.1%} of {name} positions" for name in encoded.lengths)
        yield f"padding: {', '.join(named)}"
    for name in encoded.lengths:
        if isinstance(columns[name], StoredColumn):  # told when it was prepared
            continue
        ids = columns[name].flat_values.numpy()
        if np.issubdtype(ids.dtype, np.integer):
            yield f"unknown pieces: {np.mean(ids == UNKNOWN_ID):.3%} of {name}"


def _summary(model: Any) -> Iterator[str]:
    yield ""
    width = max(len(variable.path) for variable in model.trainable_variables)
    for variable in model.trainable_variables:
        size = int(np.prod(variable.shape))
        yield f"{variable.path:<{width}}  {list(variable.shape)!s:<18}{size:>12,}"
    yield f"{'all weights':<{width}}  {'':<18}{model.count_params():>12,}"
