"""What a reader of another system's models finds, and the run that is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.build.problems import problem_of
from tf_transformer.build.run import LoadedRun, load_run
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.checkpoints import CheckpointStore, Index, step_name
from tf_transformer.errors import DataError, RunError
from tf_transformer.files import write_text
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.recipe.reader import parse_recipe
from tf_transformer.recipe.text import yaml_text
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Preprocessor

Array = np.ndarray[Any, Any]

_SAMPLES = 12
_PIECES = 6
NEVER = -20.0
"""Added to the logit of a row that another system has not: together they take less than 1e-8 of any word."""


@dataclass(frozen=True)
class Imported:
    """A translation model of another system.

    Args:
        origin: The system, and the model's path.
        model: The recipe's section.
        weights: By their paths inside of the model.
        side: How text becomes ids.
        text: The recipe's section.
        decoding: Likewise.
        longest: Pieces of the longest source, the end token counted, and of the longest target.
        remarks: What is otherwise than in that system, for a person.
    """

    origin: str
    model: Mapping[str, Any]
    weights: Mapping[str, Array]
    side: Preprocessor
    text: Mapping[str, Any]
    decoding: Mapping[str, Any]
    longest: tuple[int, int]
    remarks: Sequence[str] = field(default_factory=list)

    def recipe(self, folder: Path) -> Any:
        """The resolved recipe of the run; its training text is named, and was never there."""
        values = {
            "task": "translate",
            "data": {
                "train": {"source": "not-imported.source", "target": "not-imported.target"},
                "dev": {"fraction": 0.05},
                "max_source_length": self.longest[0],
                "max_target_length": self.longest[1],
            },
            "text": {**self.text},
            "model": {**self.model},
            "decoding": {**self.decoding},
            # Of training nothing is known; a run must say when it ends.
            "training": {"epochs": 1, "precision": "float32"},
        }
        return parse_recipe(yaml_text(values), f"the recipe of {self.origin}", folder)


def demand_free(path: Path) -> None:
    """Refuses, before any work, a folder that something is in.

    Raises:
        RunError: Then.
    """
    if RunFolder(path).exists():
        raise RunError(f"{path}: is a run already; name another folder, or remove it")
    RunFolder(path).check()


def write_run(found: Imported, path: Path) -> LoadedRun:
    """Makes a run whose only checkpoint, of step 0, holds the imported weights.

    Args:
        found: The model.
        path: The run's folder, which must not be there yet, or be empty.

    Returns:
        The run, read back from the disk.

    Raises:
        RunError: If the folder is taken.
        DataError: If the weights are not those of the model that was read.
    """
    demand_free(path)
    recipe = found.recipe(path)
    weights = _checked(found, recipe)
    folder, store = RunFolder(path), CheckpointStore(RunFolder(path).checkpoints)
    with folder.lock():
        folder.create(recipe)
        found.side.save(folder.tokenizer)
        write_text(folder.samples / f"{step_name(0)}.txt", _samples(found.side))
        state = TrainingState(best_step=0).to_json()
        store.write(step_name(0), weights, state={**state, "imported": found.origin})
        store.write_index(Index(last=0, best=0, kept=[]))
        folder.log_event("imported", found.origin)
    return load_run(path)


def _checked(found: Imported, recipe: Any) -> dict[str, Array]:
    """The weights by their full paths; the model of the recipe must have these and no others."""
    model = problem_of(recipe).model(found.side, "float32")
    weights = {f"{model.name}/{path}": array for path, array in found.weights.items()}
    shapes = {
        variable.path: tuple(variable.shape)
        for variable in model.weights
        if "seed_generator" not in variable.path
    }
    for path, shape in shapes.items():
        if path not in weights or weights[path].shape != shape:
            received = "none" if path not in weights else str(weights[path].shape)
            raise DataError(f"{found.origin}: {path} must have the shape {shape}. Received: {received}")
    if extra := sorted(set(weights) - set(shapes)):
        raise DataError(f"{found.origin}: the model has no place for some weights, such as {extra[0]}")
    others = {one.path: np.asarray(one) for one in model.weights if one.path not in shapes}
    return {**others, **{path: np.asarray(array, np.float32) for path, array in weights.items()}}


def _samples(side: Preprocessor) -> str:
    """Some texts of the model's own pieces: what an export is tried with until there is data."""
    tokens = side.source_tokenizer.tokens
    first = len(SPECIAL_TOKENS)
    places = np.linspace(first, len(tokens) - 1, _SAMPLES * _PIECES).astype(np.int32)
    texts = side.source_tokenizer.detokenize(places.reshape(_PIECES, _SAMPLES).T)
    lines = [text.decode("utf-8", "replace") for text in texts.numpy()]
    return "".join(f"source {' '.join(line.split())}\n" for line in lines if line.strip())
