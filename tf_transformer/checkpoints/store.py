"""The ``checkpoints/`` folder of a run: what is written, kept, found and averaged."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.checkpoint_index import (
    AVERAGE,
    INDEX,
    Index,
    is_step,
    is_step_number,
    name_fault,
    step_name,
)
from tf_transformer.checkpoints.apart import taken_apart
from tf_transformer.checkpoints.content import (
    Arrays,
    Checkpoint,
    read_folder,
    read_state,
    write_apart,
    write_folder,
)
from tf_transformer.errors import RunError
from tf_transformer.files import parse_json, read_file, sync_folder, write_json
from tf_transformer.run_folder import RunFolder
from tf_transformer.run_folder.formats import Document


class CheckpointStore:
    """The ``checkpoints/`` folder of a run.

    Args:
        folder: The folder; made when the first checkpoint is written.
        migrate: Makes documents of an older run's format those of the newest, see `RunFolder.migrated`.
    """

    def __init__(self, folder: Path, migrate: Callable[[Document, Any], Any] | None = None) -> None:
        self.folder = folder
        self._migrate = migrate or (lambda _, values: values)

    @classmethod
    def of(cls, run: RunFolder) -> "CheckpointStore":
        """The checkpoints of a run, whatever its format is."""
        return cls(run.checkpoints, run.migrated)

    def index(self) -> Index:
        """Reads the index; an empty one where there is neither an index nor a checkpoint.

        Raises:
            RunError: When it is missing or broken; says the rule.
        """
        path = self.folder / INDEX
        there = self._steps_on_disk()
        try:
            if not path.exists():
                if there:
                    raise ValueError("is missing")
                return Index()
            index = Index.parse(self._migrate("index", parse_json(read_file(path))))
            if there and index.last is None:
                raise ValueError("names no last checkpoint, and there are some")
        except ValueError as error:
            raise RunError(f"{path}: broken index of checkpoints: {error}") from None
        return index

    def whole_index(self) -> Index:
        """Reads the index, which must name nothing that is not there.

        Raises:
            RunError: When it does, or is missing or broken.
        """
        index = self.index()
        lost = sorted(index.steps() - set(self._steps_on_disk()))
        if lost:
            path = self.folder / INDEX
            raise RunError(
                f"{path}: broken index of checkpoints: it names {step_name(lost[0])}, which is gone"
            )
        return index

    def made_index(self, keep: int, average_is_best: bool = False) -> Index:
        """An index made from the checkpoints alone, in place of a broken one. Nothing is written.

        Args:
            keep: How many validated checkpoints the run keeps.
            average_is_best: Whether the results say so of the average.

        Raises:
            RunError: When no checkpoint tells what it is.
        """
        states = {}
        for step in sorted(self._steps_on_disk()):
            with suppress(OSError, ValueError):
                states[step] = self.state(step)
        if not states:
            raise RunError(f"{self.folder}: holds no checkpoint that an index could be made from")
        # A step tells which one was the best when it was saved; the newest one knows best.
        wins = [state.get("best_step") for _, state in sorted(states.items(), reverse=True)]
        kept = [step for step, state in states.items() if state.get("validated") == step]
        return Index(
            last=max(states),
            best=next((step for step in wins if is_step(step) and step in states), None),
            kept=kept[-keep:] if keep else [],
            average_is_best=average_is_best and (self.folder / AVERAGE).is_dir(),
        )

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
            write_folder(aside, weights, training, state or {})
            self._put_in_place(aside, self.folder / name)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise

    def write_apart(self, step: int, weights: Arrays, start: Arrays, file: Path) -> int:
        """Writes weights, as the only checkpoint, by what they are beyond others.

        Args:
            step: Of the checkpoint.
            weights: By path.
            start: The others.
            file: Where those lie.

        Returns:
            Bytes of it.
        """
        folder, parts = self.folder / step_name(step), taken_apart(weights, start)
        folder.mkdir(parents=True)
        write_apart(folder, parts, file, {"step": step})
        self.write_index(Index(last=step, best=step))
        return sum(part.nbytes for part in parts.values())

    def recover(self) -> None:
        """Puts back a checkpoint whose replacement was cut short between the two renames of ``write``."""
        for old in self.folder.glob(".*.old"):
            name = old.name[1:].removesuffix(".old")
            if not (self.folder / name).exists():
                old.rename(self.folder / name)

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
        for step in set(self._steps_on_disk()) - index.steps():
            shutil.rmtree(self.folder / step_name(step), ignore_errors=True)

    def drop_after(self, step: int) -> None:
        """Removes the checkpoints of later steps, so that ``step`` is the last one."""
        index = self.index()
        index.last, index.kept = step, [kept for kept in index.kept if kept <= step]
        self.write_index(index)

    def read(self, name: str) -> Checkpoint:
        """Reads and verifies one checkpoint.

        Raises:
            RunError: When it is missing, incomplete, cut or altered; names the file.
            PermissionError: When it may not be read.
        """
        return self._migrated(self._read(name))

    def state(self, step: int) -> dict[str, Any]:
        """What a checkpoint says of the training, without its arrays.

        Raises:
            OSError: When it cannot be read.
            ValueError: When it says nothing that can be.
        """
        found: dict[str, Any] = self._migrate("state", read_state(self.folder / step_name(step)))
        return found

    def _read(self, name: str) -> Checkpoint:
        """As ``read``, in the format that it was written in."""
        folder = self.folder / name
        if not folder.is_dir():
            raise RunError(f"{folder}: no such checkpoint")
        try:
            return read_folder(folder)
        except PermissionError:  # it may be whole: nothing else is taken in its place
            raise
        except Exception as error:  # whatever a reader may raise at a file that anybody may have made
            raise RunError(f"{folder}: damaged checkpoint ({error or type(error).__name__})") from None

    def _migrated(self, found: Checkpoint) -> Checkpoint:
        # Only what continues a training has arrays: an average has none.
        training = self._migrate("arrays", found.training) if found.training else found.training
        return replace(found, training=training, state=self._migrate("state", found.state))

    def rewrite(self) -> None:
        """Writes each checkpoint, and the index, in the newest format; a damaged one is left as it is.

        Raises:
            RunError: When the index is broken.
        """
        names = [*map(step_name, self._steps_on_disk()), AVERAGE]
        for name in (name for name in names if (self.folder / name).is_dir()):
            try:
                written = self._read(name)
            except RunError:
                continue
            found = self._migrated(written)
            if found.training is not written.training or found.state is not written.state:
                state = {key: value for key, value in found.state.items() if key != "sha256"}
                self.write(name, found.weights, found.training or None, state)
        self.write_index(self.index())

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that is whole, and one line for each damaged one passed over.

        A best one that is gone is forgotten: the next validation begins anew with what is best.

        Raises:
            RunError: When there are checkpoints but none of them is whole.
        """
        steps = sorted(self._steps_on_disk(), reverse=True)
        damaged: list[str] = []
        for step in steps:
            try:
                checkpoint = self.read(step_name(step))
            except RunError as error:
                damaged.append(str(error))
                continue
            if checkpoint.state.get("best_step") not in (None, *steps):
                checkpoint = replace(checkpoint, state={**checkpoint.state, "best": None, "best_step": None})
            return checkpoint, damaged
        if damaged:
            raise RunError("no checkpoint can be read: " + "; ".join(damaged))
        return None, []

    def resolve(self, wanted: str, index: Index | None = None) -> str:
        """Folder name of ``best``, ``last``, ``average`` or a step number.

        Args:
            wanted: One of them.
            index: Says what is best and last; by default the index on disk.

        Raises:
            RunError: When there is no such checkpoint; lists those there are.
        """
        if fault := name_fault(wanted):
            raise RunError(fault)
        if is_step_number(wanted) or wanted == AVERAGE:
            return self._there(wanted, AVERAGE if wanted == AVERAGE else step_name(int(wanted)))
        index = index or self.index()
        name = index.best_in(self.folder) if wanted == "best" else index.last_name
        if name is None:
            raise RunError(f"{self.folder}: this run holds no checkpoint; train it first")
        return name

    def _there(self, wanted: str, name: str) -> str:
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
            if _kinds(weights) != _kinds(first):
                raise RunError(f"{self.folder}: steps {steps[0]} and {step} hold different weights")
            for name, array in weights.items():
                sums[name] += array
        return {name: (total / len(steps)).astype(first[name].dtype) for name, total in sums.items()}

    def _steps_on_disk(self) -> list[int]:
        if not self.folder.exists():
            return []
        # Not by `glob`, which passes over a folder that may not be read as if it were empty.
        names = (path.name.removeprefix("step-") for path in self.folder.iterdir() if path.is_dir())
        steps = [int(name) for name in names if is_step_number(name)]
        # A folder called otherwise than `step_name` calls it was put there by somebody else.
        return [step for step in steps if (self.folder / step_name(step)).is_dir()]


def _kinds(weights: Arrays) -> dict[str, tuple[Any, ...]]:
    return {name: (array.shape, array.dtype) for name, array in weights.items()}
