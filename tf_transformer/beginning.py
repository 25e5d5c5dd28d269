"""The start of a training: a new run, or an old one whose recipe is weighed against the one given now."""

import shutil
from collections.abc import Callable, Collection
from typing import Literal

from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.errors import RunError
from tf_transformer.precision import choose_precision
from tf_transformer.recipe import Change, Recipe, compare_recipes, replaced
from tf_transformer.run_folder import RunFolder

Reset = Literal["optimizer", "schedule", "data"]


def begin(
    folder: RunFolder,
    recipe: Recipe,
    store: CheckpointStore,
    say: Callable[[str], None],
    reset: Collection[Reset] = (),
) -> Recipe:
    """Writes the recipe of a new run, or weighs what has changed since an old one's.

    Args:
        folder: The run.
        recipe: As given now, with records of its files.
        store: The run's checkpoints.
        say: Prints a line for the person who waits.
        reset: What is not continued; ``"data"`` takes files whose content has changed as new data.

    Returns:
        The recipe to train, its precision chosen.

    Raises:
        RunError: When something has changed that cannot change midway; names it with both values.
    """
    if not folder.exists():
        return _begin_anew(folder, recipe, say)
    folder.check_format()
    if store.newest()[0] is None:
        # Nothing was trained yet, so nothing binds; a tokenizer of the old recipe must not be taken over.
        shutil.rmtree(folder.tokenizer, ignore_errors=True)
        return _begin_anew(folder, recipe, say)
    old = folder.recipe()
    changes = compare_recipes(old, recipe)
    if changes.refused:
        raise RunError(
            f"{folder.path}: a run cannot change midway in {_listed(changes.refused)}. "
            "To start over, keeping this run aside: the same command with --fresh"
        )
    altered = [change for change in changes.logged if _is_altered_text(change)]
    if altered and "data" not in reset:
        raise RunError(
            f"{folder.path}: training text has changed since the run began: {_listed(altered)}. Put it back, "
            "or take it as new data: the same command with --reset data"
        )
    if recipe.training.precision == "auto":
        recipe = replaced(recipe, "training", precision=old.training.precision)
    for change in changes.logged:
        say(f"changed midway: {change}")
        folder.log_event("recipe changed", str(change))
    folder.write_recipe(recipe)
    return recipe


def _begin_anew(folder: RunFolder, recipe: Recipe, say: Callable[[str], None]) -> Recipe:
    if recipe.training.precision == "auto":
        choice = choose_precision()
        say(f"precision {choice.policy}: {choice.reason}")
        recipe = replaced(recipe, "training", precision=choice.policy)
    folder.create(recipe)
    return recipe


def _is_altered_text(change: Change) -> bool:
    """Whether a file of training text holds something else than it did."""
    contents = all(str(value).startswith("content ") for value in (change.old, change.new))
    return change.key.startswith("data.train.") and contents


def _listed(changes: Collection[Change]) -> str:
    return "; ".join(map(str, changes))
