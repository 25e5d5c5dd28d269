"""The start of a training: a new run, or an old one whose recipe is weighed against the one given now.

All that can be refused is refused before anything of the run is written.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tf_transformer.build import problem_of
from tf_transformer.build.run import mended_index
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.checkpoints import Checkpoint, CheckpointStore, Index
from tf_transformer.devices import Devices
from tf_transformer.errors import RunError
from tf_transformer.precision import choose_precision
from tf_transformer.recipe import Change, Changes, Recipe, compare_recipes
from tf_transformer.run_folder import RUN_FORMAT, RunFolder, changes_since

Reset = Literal["optimizer", "schedule", "data"]


@dataclass(frozen=True)
class Beginning:
    """What was decided; nothing of it is written before :meth:`write`.

    Args:
        folder: The run.
        store: Its checkpoints.
        recipe: The recipe to train, its precision chosen.
        checkpoint: What training continues from; None where it begins.
        side: The run's own text or image side; None where it begins.
        events: What happened to the run, each with a short name.
        index: An index of the checkpoints in place of a broken one.
    """

    folder: RunFolder
    store: CheckpointStore
    recipe: Recipe
    checkpoint: Checkpoint | None = None
    side: Any = None
    events: Sequence[tuple[str, str]] = ()
    index: Index | None = None

    def write(self) -> None:
        """Makes the folder of a new run, or writes down what has changed in an old one."""
        if self.checkpoint is None:
            self.folder.create(self.recipe)
            # Of a validation whose checkpoint was not written any more: it comes again.
            self.folder.truncate_metrics(0)
            return
        if self.index is not None:
            self.store.write_index(self.index)
        older = self.folder.format
        if older != RUN_FORMAT:
            self.store.rewrite()
        for event, detail in self.events:
            self.folder.log_event(event, detail)
        self.folder.write_recipe(self.recipe)
        if older != RUN_FORMAT:  # last: a migration that was cut short is taken up again
            self.folder.write_format()
            changes = "; ".join(changes_since(older))
            self.folder.log_event("run format", f"from {older} to {RUN_FORMAT}: {changes}")


def begin(
    folder: RunFolder,
    recipe: Recipe,
    store: CheckpointStore,
    say: Callable[[str], None],
    reset: Collection[Reset] = (),
) -> Beginning:
    """Weighs what has changed since a run began, or prepares a new one.

    Args:
        folder: The run.
        recipe: As given now, with records of its files.
        store: The run's checkpoints.
        say: Prints a line for the person who waits.
        reset: What is not continued; ``"data"`` takes files whose content has changed as new data.

    Raises:
        RunError: When something has changed that cannot change midway (names it with both values), or
            something is missing that continuing needs.
        TextError: When the run's tokenizer is missing or damaged.
    """
    if not folder.exists():
        return Beginning(folder, store, with_precision(recipe, say))
    folder.check_format()
    store.recover()
    checkpoint, damaged = store.newest()
    if checkpoint is None:
        # Nothing was trained yet, so nothing binds.
        _refuse_lost_checkpoints(folder)
        return Beginning(folder, store, with_precision(recipe, say))
    try:
        TrainingState().restore(checkpoint.state)
    except ValueError as error:
        raise RunError(f"{checkpoint.folder}: damaged checkpoint (state.json: {error})") from None
    events = [("damaged checkpoint", f"{line}; the checkpoint before is used") for line in damaged]
    index, note = mended_index(folder, store, recipe, whole=True)
    if note is not None:
        events.append(("broken index", note))
    old = folder.recipe()
    if recipe.task == old.task:
        recipe = _with_found_sizes(recipe, old)
    changes = _weighed(folder, old, recipe, reset)
    events += [("recipe changed", str(change)) for change in changes.logged]
    if (why := _other_measure(old, recipe, changes)) is not None:
        events.append(("best begun anew", f"{why} has changed, so the next validation is the best so far"))
        state = {**checkpoint.state, "best": None, "best_step": None, "waited": 0}
        checkpoint = replace(checkpoint, state=state)
    side = problem_of(old).side_of(folder, checkpoint)
    for event, detail in events:
        say(f"changed midway: {detail}" if event == "recipe changed" else detail)
    if recipe.training.precision == "auto":
        recipe = recipe.replaced("training", precision=old.training.precision)
    return Beginning(folder, store, recipe, checkpoint, side, events, index if note else None)


def _with_found_sizes(recipe: Recipe, old: Recipe) -> Recipe:
    """The recipe with what its run has found where it says ``auto``."""
    for key in _sizes(recipe):
        found = getattr(old.training, key)
        if getattr(recipe.training, key) == "auto" and found is not None:
            recipe = recipe.replaced("training", **{key: found})
    return recipe


def _sizes(recipe: Recipe) -> list[str]:
    """The keys that say how large an update is, and how much of it is taken at once."""
    training = recipe.training
    return [key for key in (training.BUDGET, f"micro_{training.BUDGET}") if hasattr(training, key)]


def follow(
    folder: RunFolder,
    recipe: Recipe,
    store: CheckpointStore,
    devices: Devices,
    say: Callable[[str], None],
    reset: Collection[Reset] = (),
) -> Beginning:
    """As ``begin``, on several hosts: the chief begins, and the others take what it has chosen.

    Args:
        folder: The run, which only the chief has.
        recipe: As given now.
        store: The run's checkpoints.
        devices: Of all hosts.
        say: Prints a line for the person who waits.
        reset: What is not continued.
    """
    found = begin(folder, recipe, store, say, reset) if devices.is_chief else None
    names = ("precision", *_sizes(recipe))
    chosen = devices.from_chief(found and {name: getattr(found.recipe.training, name) for name in names})
    return found or Beginning(folder, store, recipe.replaced("training", **chosen))


def _weighed(folder: RunFolder, old: Recipe, new: Recipe, reset: Collection[Reset]) -> Changes:
    """What has changed; all of it can be taken."""
    changes = compare_recipes(old, new)
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
    return changes


def _other_measure(old: Recipe, new: Recipe, changes: Changes) -> str | None:
    """The key that changes what validations measure, if any: what was best by it says nothing now."""
    if old.training.best_by != new.training.best_by:
        return "training.early_stopping.metric"
    of_dev = (change.key for change in changes.logged if change.key.startswith("data.dev."))
    keys = problem_of(new).measured_by
    return next(of_dev, None) or next((change.key for change in changes.logged if change.key in keys), None)


def _refuse_lost_checkpoints(folder: RunFolder) -> None:
    """Keeps a run whose checkpoints were removed from mixing its records with those of a second training."""
    # A run that was killed early has a folder for them, and at most the validation before the first one.
    if folder.results() is None and folder.checkpoints.is_dir() and len(folder.metrics()) < 2:
        return
    raise RunError(
        f"{folder.checkpoints}: the checkpoints of this run are gone, and its records are of a training that "
        "had them. Put them back, or start over, keeping this run aside: the same command with --fresh"
    )


def with_precision(recipe: Recipe, say: Callable[[str], None]) -> Recipe:
    """The recipe with its precision chosen, where it leaves that to the machine; says what and why."""
    if recipe.training.precision != "auto":
        return recipe
    choice = choose_precision()
    say(f"precision {choice.policy}: {choice.reason}")
    return recipe.replaced("training", precision=choice.policy)


def _is_altered_text(change: Change) -> bool:
    """Whether a file of training text holds something else than it did."""
    return change.key.startswith(("data.train.", "data.prepared")) and change.is_content


def _listed(changes: Collection[Change]) -> str:
    return "; ".join(map(str, changes))
