"""What lies in the folder of one checkpoint, written and read; nothing that is read is executed."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tf_transformer.checkpoint_index import WEIGHTS, is_step
from tf_transformer.checkpoints.apart import joined
from tf_transformer.files import parse_json, read_file, sha256_of, sync_folder, write_json

Arrays = Mapping[str, npt.NDArray[Any]]

TRAINING = "training.npz"
STATE = "state.json"
APART = "apart.npz"
"""In place of the weights: what they are beyond those that the state calls ``begun_from``."""


@dataclass(frozen=True)
class Checkpoint:
    """What one checkpoint holds, read and verified."""

    name: str
    folder: Path
    weights: Arrays
    training: Arrays
    state: Mapping[str, Any]


def write_folder(folder: Path, weights: Arrays, training: Arrays | None, state: Mapping[str, Any]) -> None:
    """Writes the files of a checkpoint into an empty folder, flushed to the disk."""
    checksums = {WEIGHTS: _write_arrays(folder / WEIGHTS, weights)}
    if training is not None:
        checksums[TRAINING] = _write_arrays(folder / TRAINING, training)
    checksums[STATE] = _digest(state)
    write_json(folder / STATE, {**state, "sha256": checksums})
    sync_folder(folder)


def read_folder(folder: Path) -> Checkpoint:
    """Reads a checkpoint and verifies its checksums.

    Raises:
        ValueError: When something in it is not as it was written; an array file that was made to deceive may
            raise anything else.
    """
    state = read_state(folder)
    sums = {name: checksum for name, checksum in state["sha256"].items() if name != STATE}
    arrays = {name: _read_arrays(folder / name, checksum) for name, checksum in sums.items()}
    if APART in arrays:
        arrays[WEIGHTS] = joined(arrays[APART], _begun_from(state))
    return Checkpoint(folder.name, folder, arrays[WEIGHTS], arrays.get(TRAINING, {}), state)


def write_apart(folder: Path, parts: Arrays, start: Path, state: Mapping[str, Any]) -> None:
    """Writes a checkpoint into an empty folder by what its weights are beyond others.

    Args:
        folder: Where it goes.
        parts: As `taken_apart` gives them.
        start: The file of the others, which must stay as it is.
        state: As of any checkpoint.
    """
    begun = {"path": str(start.absolute()), "sha256": sha256_of(start)}
    said = {**state, "begun_from": begun}
    checksums = {APART: _write_arrays(folder / APART, parts), STATE: _digest(said)}
    write_json(folder / STATE, {**said, "sha256": checksums})
    sync_folder(folder)


def _begun_from(state: Mapping[str, Any]) -> Arrays:
    """The weights that a state names as those of the beginning."""
    try:
        path, checksum = Path(state["begun_from"]["path"]), str(state["begun_from"]["sha256"])
    except (KeyError, TypeError):
        raise ValueError(f"{STATE}: begun_from must name a path and its sha256") from None
    if not path.is_file():
        raise ValueError(f"the weights that it goes with, {path}, are gone")
    try:
        return _read_arrays(path, checksum)
    except ValueError:
        raise ValueError(f"{path} holds other weights than those that it goes with") from None


def read_state(folder: Path) -> dict[str, Any]:
    """The state of a checkpoint.

    Raises:
        OSError: When it cannot be read.
        ValueError: When it is none; says the rule.
    """
    try:
        state = parse_json(read_file(folder / STATE))
    except ValueError as error:
        raise ValueError(f"{STATE}: {error}") from None
    if not isinstance(state, dict):
        raise ValueError(f"{STATE} must hold an object")
    if not is_step(state.get("step", 0)):
        raise ValueError(f"{STATE}: step must be a whole number, at least 0")
    sums = state.get("sha256")
    # The names are fixed: one from a file could lead anywhere.
    known = {WEIGHTS, TRAINING, STATE, APART}
    if not isinstance(sums, dict) or not {WEIGHTS, APART} & set(sums) or not set(sums) <= known:
        raise ValueError(f"{STATE}: sha256 must name {WEIGHTS}, and may name {TRAINING} and {STATE}")
    if sums.get(STATE, digest := _digest(state)) != digest:  # the first runs had none
        raise ValueError(f"{STATE} does not match its SHA-256")
    return state


def _digest(state: Mapping[str, Any]) -> str:
    """SHA-256 of what a state says, but for the checksums themselves."""
    said = {name: value for name, value in state.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _write_arrays(path: Path, arrays: Arrays) -> str:
    with path.open("wb") as file:
        np.savez(file, **dict(arrays))  # type: ignore[arg-type]  # the stub takes the names for flags
        file.flush()
        os.fsync(file.fileno())
    return sha256_of(path)


def _read_arrays(path: Path, checksum: str) -> dict[str, npt.NDArray[Any]]:
    if path.exists() and not path.is_file():
        raise ValueError(f"{path.name} is no regular file")
    if sha256_of(path) != checksum:
        raise ValueError(f"{path.name} does not match its SHA-256")
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    if not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise ValueError(f"{path.name} holds something else than arrays")
    return arrays
