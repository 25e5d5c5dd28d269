"""What a training begins from that begins from a run: its weights, and what makes ids of its data."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_transformer.build.weights import set_weights
from tf_transformer.checkpoints import Arrays, Checkpoint, CheckpointStore
from tf_transformer.errors import RunError, counted
from tf_transformer.recipe.beginnings import run_of
from tf_transformer.run_folder import RunFolder


@dataclass(frozen=True)
class Origin:
    """A run and one of its checkpoints.

    Args:
        folder: The run.
        checkpoint: Whose weights are taken: those that answer, averages where it has some.
        side: The run's text or image side.
    """

    folder: RunFolder
    checkpoint: Checkpoint
    side: Any


def read_origin(
    weights: Path | None,
    side_of: Callable[[RunFolder, Checkpoint], Any],
) -> Origin | None:
    """What a recipe's ``training.initialize_from`` names; None where it names nothing.

    Args:
        weights: The file of a checkpoint's weights.
        side_of: Reads the side of a run that belongs to one of its checkpoints.

    Raises:
        RunError: When the run or its checkpoint is gone or damaged.
        TextError: When its side is.
    """
    if weights is None:
        return None
    folder = RunFolder.open(run_of(weights))
    checkpoint = CheckpointStore.of(folder).read(weights.parent.name)
    return Origin(folder, checkpoint, side_of(folder, checkpoint))


def carry(model: Any, origin: Origin, weights: Arrays, sizes: str) -> Iterator[str]:
    """Puts weights of a run into a model.

    Args:
        model: With fresh weights.
        origin: Whose weights they are, and all that it has.
        weights: What is taken, by path; what the run has and they lack stays fresh.
        sizes: What beside the recipe decides the shapes, for a message.

    Yields:
        What was taken and what is fresh, for a person.

    Raises:
        RunError: When a weight is missing in the run, or has another shape.
    """
    fresh = [path for path in origin.checkpoint.weights if path not in weights]
    set_weights(model, weights, str(origin.checkpoint.folder), sizes, fresh)
    step = counted(int(origin.checkpoint.state.get("step", 0)), "update")
    taken = counted(len(weights), "weight")
    yield f"begins from {origin.checkpoint.folder}, of {step}: {taken} taken"
    if fresh:
        yield f"{counted(len(fresh), 'weight')} fresh, since the run's do not fit: {', '.join(fresh)}"


def keep_apart(run: RunFolder, path: Path, wanted: str) -> tuple[int, int]:
    """Writes a run of one checkpoint that has what it learnt beyond the run that it began from.

    Args:
        run: One that began from another.
        path: Where it goes; nothing is there.
        wanted: Which checkpoint.

    Returns:
        Bytes of what was learnt, and of all weights.

    Raises:
        RunError: When it began from none, or one of both is gone or damaged.
    """
    weights = run.recipe().training.initialize_from
    if weights is None:
        raise RunError(f"{run.path}: began from no other run: it has no training.initialize_from")
    store = CheckpointStore(run.checkpoints)
    found = store.read(store.resolve(wanted))
    start = CheckpointStore(weights.parents[1]).read(weights.parent.name)
    apart = RunFolder(path)
    for file in (run.recipe_file, run.versions_file, run.results_file):
        if file.is_file():
            apart.path.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, path / file.name)
    shutil.copytree(run.tokenizer, apart.tokenizer)
    step = int(found.state["step"])
    size = CheckpointStore(apart.checkpoints).write_apart(step, found.weights, start.weights, weights)
    return size, sum(array.nbytes for array in found.weights.values())
