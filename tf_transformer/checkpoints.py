"""Checkpoints: one folder a step, holding all that exact continuation needs, checked by SHA-256.

::

    checkpoints/
      index.json               which steps are kept, which is best, which is last
      step-00001000/
        weights.npz            the model's weights, by variable path
        training.npz           optimizer, loss scale, dropout seeds, sums of the running interval
        state.json             step, position in the data, clock, SHA-256 of the two files above
      average/
        weights.npz state.json

A folder is written aside, flushed and renamed: a checkpoint is whole or it is not there.
Arrays are plain ``.npz`` read with ``allow_pickle=False``; reading one never runs code.
"""

import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tf_transformer.errors import RunError
from tf_transformer.files import sha256_of, sync_folder, write_json

Arrays = Mapping[str, npt.NDArray[Any]]

WEIGHTS = "weights.npz"
TRAINING = "training.npz"
STATE = "state.json"
INDEX = "index.json"
AVERAGE = "average"


@dataclass(frozen=True)
class Checkpoint:
    """What one checkpoint holds, read and verified."""

    name: str
    folder: Path
    weights: Arrays
    training: Arrays
    state: Mapping[str, Any]


@dataclass
class Index:
    """Which checkpoints a run keeps; a step listed nowhere is removed when the next one is written.

    Args:
        last: The newest step, from which training continues.
        best: The step with the best validation measure so far.
        kept: Steps of the last validations, oldest first; what averaging reads.
        average_is_best: Whether the average scored better on dev than the best step did.
    """

    last: int | None = None
    best: int | None = None
    kept: list[int] = field(default_factory=list)
    average_is_best: bool = False

    def steps(self) -> set[int]:
        """Every step that must stay on disk."""
        return {step for step in (self.last, self.best, *self.kept) if step is not None}


def step_name(step: int) -> str:
    """Folder name of the checkpoint at ``step``."""
    return f"step-{step:08d}"


class CheckpointStore:
    """The ``checkpoints/`` folder of a run.

    Args:
        folder: The folder; made when the first checkpoint is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def index(self) -> Index:
        """Reads the index; an empty one where there is none yet."""
        path = self.folder / INDEX
        if not path.exists():
            return Index()
        try:
            return Index(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise RunError(f"{path}: not a readable checkpoint index ({error})") from None

    def write(
        self,
        name: str,
        weights: Arrays,
        training: Arrays | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes a checkpoint aside and renames it into place; one of the same name is replaced."""
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder / f".{name}.writing"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        try:
            checksums = {WEIGHTS: _write_arrays(aside / WEIGHTS, weights)}
            if training is not None:
                checksums[TRAINING] = _write_arrays(aside / TRAINING, training)
            write_json(aside / STATE, {**(state or {}), "sha256": checksums})
            sync_folder(aside)
            self._put_in_place(aside, self.folder / name)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise

    def _put_in_place(self, aside: Path, target: Path) -> None:
        if target.exists():
            # A folder cannot replace a full one in a single rename; the old one steps aside first.
            old = target.with_name(f".{target.name}.old")
            shutil.rmtree(old, ignore_errors=True)
            target.rename(old)
            aside.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            aside.rename(target)
        sync_folder(self.folder)

    def write_index(self, index: Index) -> None:
        """Writes the index, then removes the step folders that it no longer names."""
        write_json(self.folder / INDEX, asdict(index))
        names = {step_name(step) for step in index.steps()}
        for path in self.folder.glob("step-*"):
            if path.name not in names:
                shutil.rmtree(path, ignore_errors=True)

    def drop_after(self, step: int) -> None:
        """Removes the checkpoints of later steps, so that ``step`` is the last one."""
        index = self.index()
        index.last, index.kept = step, [kept for kept in index.kept if kept <= step]
        self.write_index(index)

    def read(self, name: str) -> Checkpoint:
        """Reads and verifies one checkpoint.

        Raises:
            RunError: When it is missing, incomplete, cut or altered; names the file.
        """
        folder = self.folder / name
        if not folder.is_dir():
            raise RunError(f"{folder}: no such checkpoint")
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
            checksums = state["sha256"]
            arrays = {file: _read_arrays(folder / file, checksum) for file, checksum in checksums.items()}
            weights = arrays[WEIGHTS]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise RunError(f"{folder}: damaged checkpoint ({_reason(error)})") from None
        return Checkpoint(name, folder, weights, arrays.get(TRAINING, {}), state)

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that is whole, and one line for each damaged one passed over.

        Raises:
            RunError: When there are checkpoints but none of them is whole.
        """
        steps = sorted(self._steps_on_disk(), reverse=True)
        damaged: list[str] = []
        for step in steps:
            try:
                return self.read(step_name(step)), damaged
            except RunError as error:
                damaged.append(str(error))
        if damaged:
            raise RunError("no checkpoint can be read: " + "; ".join(damaged))
        return None, []

    def resolve(self, wanted: str) -> str:
        """Folder name of ``best``, ``last``, ``average`` or a step number.

        Raises:
            RunError: When there is no such checkpoint; lists those there are.
        """
        index = self.index()
        if wanted == "best" and index.average_is_best and (self.folder / AVERAGE).is_dir():
            return AVERAGE
        if wanted in ("best", "last"):
            step = (index.best if wanted == "best" else None) or index.last
            if step is None:
                raise RunError(f"{self.folder}: this run holds no checkpoint; train it first")
            return step_name(step)
        name = wanted if wanted == AVERAGE else step_name(int(wanted)) if wanted.isdecimal() else None
        if name is None:
            raise RunError(f"checkpoint must be best, last, average or a step. Received: {wanted}")
        if not (self.folder / name).is_dir():
            there = ", ".join(map(str, sorted(self._steps_on_disk()))) or "none"
            hint = "; make it with `tf-transformer average`" if wanted == AVERAGE else ""
            raise RunError(f"{self.folder}: no checkpoint {wanted}{hint}. Steps there: {there}")
        return name

    def average(self, steps: list[int]) -> Arrays:
        """Mean of the weights of several checkpoints, summed in float64, in each weight's own dtype."""
        if not steps:
            raise RunError(f"{self.folder}: no kept checkpoint to average; set training.keep")
        first = self.read(step_name(steps[0])).weights
        sums = {name: array.astype(np.float64) for name, array in first.items()}
        for step in steps[1:]:
            weights = self.read(step_name(step)).weights
            if weights.keys() != sums.keys():
                raise RunError(f"{self.folder}: steps {steps[0]} and {step} hold different weights")
            for name, array in weights.items():
                sums[name] += array
        return {name: (total / len(steps)).astype(first[name].dtype) for name, total in sums.items()}

    def _steps_on_disk(self) -> list[int]:
        names = (path.name.removeprefix("step-") for path in self.folder.glob("step-*") if path.is_dir())
        return [int(name) for name in names if name.isdecimal()]


def _write_arrays(path: Path, arrays: Arrays) -> str:
    with path.open("wb") as file:
        np.savez(file, **dict(arrays))  # type: ignore[arg-type]  # the stub takes the names for flags
        file.flush()
        os.fsync(file.fileno())
    return sha256_of(path)


def _read_arrays(path: Path, checksum: str) -> dict[str, npt.NDArray[Any]]:
    if sha256_of(path) != checksum:
        raise ValueError(f"{path.name} does not match its SHA-256")
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _reason(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
