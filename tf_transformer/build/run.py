"""From a run folder to a task that answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_transformer.build.problem import Problem
from tf_transformer.build.problems import problem_of
from tf_transformer.build.weights import set_weights
from tf_transformer.checkpoints import AVERAGE, CheckpointStore, Index
from tf_transformer.errors import RunError
from tf_transformer.recipe import Recipe
from tf_transformer.run_folder import RunFolder


@dataclass(frozen=True)
class LoadedRun:
    """A run that was read: its recipe, its task, and which checkpoint that is.

    Args:
        folder: Where it lies.
        problem: What its recipe, as resolved when it was trained, asks for.
        task: In float32, with the checkpoint's weights.
        checkpoint: The checkpoint's name, such as ``step-00001000`` or ``average``.
        step: Updates behind it.
        notes: What was odd about the folder, for a person.
    """

    folder: RunFolder
    problem: Problem[Any]
    task: Any
    checkpoint: str
    step: int
    notes: tuple[str, ...] = ()

    @property
    def recipe(self) -> Any:
        """The recipe of the run."""
        return self.problem.recipe


def load(path: str | Path, checkpoint: str = "best") -> Any:
    """The trained task of a run: a `Translator` where its recipe's ``task`` is ``translate``.

    Args:
        path: A run folder.
        checkpoint: ``"best"``, ``"last"``, ``"average"`` or a step.

    Raises:
        RunError: When there is no such run or checkpoint, or it is damaged.

    Example:

    >>> import tf_transformer
    >>> tf_transformer.load("runs/quickstart").translate(["I love you."])  # doctest: +SKIP
    ["Je t'aime."]
    """
    return load_run(Path(path), checkpoint).task


def load_run(path: Path, checkpoint: str = "best") -> LoadedRun:
    """Reads a run and one of its checkpoints.

    Raises:
        RunError: When there is no such run or checkpoint, or it is damaged.
    """
    folder = RunFolder.open(path)
    problem = problem_of(folder.recipe())
    store = CheckpointStore.of(folder)
    name, notes = _named(folder, store, problem.recipe, checkpoint)
    found = store.read(name)
    side = problem.side_of(folder, found)
    model = problem.model(side, "float32")
    set_weights(model, found.weights, str(found.folder), problem.side_sizes(side))
    step = int(found.state.get("step", 0))
    return LoadedRun(folder, problem, problem.task(model, side), found.name, step, notes)


def _named(
    folder: RunFolder, store: CheckpointStore, recipe: Recipe, wanted: str
) -> tuple[str, tuple[str, ...]]:
    """The checkpoint that is meant; what is best is read off the checkpoints where no index says it."""
    try:
        return store.resolve(wanted), ()
    except RunError as error:
        if wanted not in ("best", "last"):
            raise
        index, note = mended_index(folder, store, recipe)
        if note is None:
            raise error from None
        return store.resolve(wanted, index), (note,)


def mended_index(
    folder: RunFolder, store: CheckpointStore, recipe: Recipe, *, whole: bool = False
) -> tuple[Index, str | None]:
    """The index of a run's checkpoints; one made from the checkpoints where it is missing or broken.

    Args:
        folder: The run.
        store: Its checkpoints.
        recipe: Says how many validated ones are kept.
        whole: Also an index that names a checkpoint that is gone is broken.

    Returns:
        The index, and a line for a person where it was made anew. Nothing is written.

    Raises:
        RunError: When it is broken and no checkpoint tells what it is.
    """
    try:
        return (store.whole_index() if whole else store.index()), None
    except RunError as error:
        results = folder.results() or {}
        try:
            index = store.made_index(recipe.training.keep, results.get("checkpoint") == AVERAGE)
        except RunError as fault:
            raise RunError(f"{error}; {fault}") from None
        return index, f"{error}; made anew from the checkpoints beside it"
