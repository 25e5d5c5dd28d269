"""One run on disk: its files, its lock, its records."""

import errno
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tf_transformer.errors import RecipeError, RunError
from tf_transformer.files import (
    folder_fault,
    folder_fingerprint,
    is_unfinished,
    parse_json,
    read_file,
    sync_folder,
    write_bytes,
    write_json,
    write_text,
)
from tf_transformer.recipe import Recipe, dump_recipe, load_recipe
from tf_transformer.run_folder.formats import OLDEST_FORMAT, RUN_FORMAT, Document, Values, migrated
from tf_transformer.run_folder.lock import TIME, holder, locked
from tf_transformer.run_folder.versions import versions


class RunFolder:
    """One run on disk.

    Args:
        path: The folder; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recipe_file = path / "recipe.yaml"
        self.versions_file = path / "versions.json"
        self.metrics_file = path / "metrics.jsonl"
        self.events_file = path / "events.jsonl"
        self.results_file = path / "results.json"
        self.tokenizer = path / "tokenizer"
        self.checkpoints = path / "checkpoints"
        self.tensorboard = path / "tensorboard"
        self.samples = path / "samples"
        self._lock_file = path / "lock"

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Opens a run that is there.

        Raises:
            RunError: When it is not there, no run, or of a newer format.
        """
        run = cls(path)
        if not path.is_dir():
            kind = "is a file, not the folder of a run" if path.exists() else "there is no such run folder"
            raise RunError(f"{path}: {kind}")
        if not run.exists():
            raise RunError(f"{path}: is no run: it has no recipe.yaml with a versions.json beside it")
        run.check_format()
        return run

    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self.recipe_file.is_file() and self.versions_file.is_file()

    def fault(self) -> str | None:
        """Why no run can be in this folder, for a refusal before any work; None where one is or can be."""
        if not self.path.is_dir():
            return folder_fault(self.path)
        try:
            others = sorted(entry.name for entry in self.path.iterdir() if not self._is_ours(entry))
        except FileNotFoundError:  # another process was here, and has just left nothing behind
            return folder_fault(self.path)
        if others and not self.exists():
            return f"{self.path}: is no run and not empty ({others[0]} is in it); name another with --run"
        return folder_fault(self.path)

    def _is_ours(self, entry: Path) -> bool:
        """Whether an entry may be what a run left that was killed while it was begun."""
        if entry in (self.samples, self.checkpoints):
            return entry.is_dir() and not any(entry.iterdir())
        return entry in (self._lock_file, self.versions_file) or is_unfinished(entry)

    def check(self) -> None:
        """Refuses a folder that no run can be in.

        Raises:
            RunError: Then, with the reason.
        """
        if fault := self.fault():
            raise RunError(fault)

    def create(self, recipe: Recipe) -> None:
        """Begins a run: makes the folder and writes the recipe and the versions.

        Args:
            recipe: The resolved recipe, with records of its files.

        Raises:
            RunError: When the folder holds something that is no run.
        """
        self.check()
        self.samples.mkdir(parents=True, exist_ok=True)
        # Made before anything says that this is a run: where they are missing later, somebody removed them.
        self.checkpoints.mkdir(exist_ok=True)
        write_json(self.versions_file, versions())
        self.write_recipe(recipe)

    @property
    def format(self) -> int:
        """The format that the folder is of; that of new ones where no run is yet.

        Raises:
            RunError: When ``versions.json`` cannot be read.
        """
        if not self.versions_file.exists():
            return RUN_FORMAT
        try:
            found = parse_json(read_file(self.versions_file))["run_format"]
            return int(found)
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise RunError(f"{self.versions_file}: says no run_format ({error!r})") from None

    def check_format(self) -> None:
        """Refuses a folder of a format that this version does not know.

        Raises:
            RunError: Then, or when versions.json cannot be read.
        """
        found = self.format
        if found > RUN_FORMAT:
            raise RunError(
                f"{self.path}: is a run of format {found}, and this version reads up to {RUN_FORMAT}; "
                "install the newer tf-transformer to use it"
            )
        if found < OLDEST_FORMAT:
            raise RunError(
                f"{self.path}: is a run of format {found}, and there are formats from {OLDEST_FORMAT} on"
            )

    def migrated(self, document: Document, values: Values) -> Values:
        """A document of this run as it is in the newest format; nothing is written.

        Args:
            document: Which.
            values: What it says.
        """
        return migrated(document, values, self.format)

    def write_format(self) -> None:
        """Says that all documents are of the newest format; the versions that began the run stay."""
        began = parse_json(read_file(self.versions_file))
        write_json(self.versions_file, {**began, "run_format": RUN_FORMAT})

    def write_recipe(self, recipe: Recipe) -> None:
        """Writes the resolved recipe."""
        write_text(self.recipe_file, dump_recipe(recipe))

    def recipe(self) -> Recipe:
        """Reads the resolved recipe; the files it names need not be on this machine.

        Raises:
            RunError: When it is missing or was damaged.
        """
        try:
            upgrade = partial(self.migrated, "recipe")
            return load_recipe(self.recipe_file, check_files=False, upgrade=upgrade)
        except RecipeError as error:
            raise RunError(str(error)) from None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps every other trainer out while the block runs; a folder in which nothing began is not left.

        Raises:
            RunError: When another process trains here, or the folder is no run, or leads elsewhere.
        """
        self.check()
        with locked(self.path, self._lock_file.name):
            self._refuse_links()
            yield

    def trainer(self) -> str | None:
        """Which process trains here now; None where none does."""
        return holder(self.path, self._lock_file.name)

    def _refuse_links(self) -> None:
        """Keeps a run from somebody else from writing elsewhere: what is written goes where a link leads."""
        home = self.path.resolve()
        for folder, folders, files in os.walk(self.path):
            for name in (*folders, *files):
                place = Path(folder, name)
                if place.is_symlink() and not place.resolve().is_relative_to(home):
                    raise RunError(
                        f"{place}: is a link out of the run, and training would write there. Put what it "
                        "leads to in its place; to keep a run elsewhere, make its whole folder a link"
                    )

    def move_aside(self) -> Path | None:
        """Renames the folder to ``<name>.old-<n>`` so that a run can start over; nothing is deleted.

        Returns:
            The new path, or None where there was nothing.

        Raises:
            RunError: When another process trains here, or the folder is no run.
        """
        if not self.path.exists():
            return None
        self.check()
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.old-{number}")).exists():
            number += 1
        with self.lock():
            self._lock_file.unlink()
            self.path.rename(aside)
        sync_folder(self.path.absolute().parent)
        return aside

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Appends one object to ``metrics.jsonl``, flushed to the disk; NaN and infinity become null."""
        _append(self.metrics_file, _finite(dict(row)))

    def log_event(self, event: str, detail: str) -> None:
        """Appends what happened, and when, to ``events.jsonl``.

        Args:
            event: A short name, such as ``recipe changed``.
            detail: One line about it.
        """
        _append(self.events_file, {"time": time.strftime(TIME), "event": event, "detail": detail})

    def metrics(self) -> list[dict[str, Any]]:
        """The objects of ``metrics.jsonl``; a last line that was cut by a kill is left out.

        Raises:
            RunError: When another line is no object with a ``step``; names it.
        """
        return [row for _, row in self._metric_lines()]

    def truncate_metrics(self, step: int) -> None:
        """Drops what was written after ``step``, where training continues; other lines stay as they are."""
        if self.metrics_file.exists():
            kept = [line for line, row in self._metric_lines() if row["step"] <= step]
            write_bytes(self.metrics_file, b"".join(kept))

    def _metric_lines(self) -> list[tuple[bytes, dict[str, Any]]]:
        if not self.metrics_file.exists():
            return []
        lines = read_file(self.metrics_file).split(b"\n")[:-1]
        found = []
        for number, line in enumerate(lines, start=1):
            try:
                row = parse_json(line)
                row["step"] + 0
            except (ValueError, TypeError, KeyError):
                raise RunError(f"{self.metrics_file}:{number}: is no object with a step") from None
            found.append((line + b"\n", row))
        return found

    def tokenizer_digest(self) -> str:
        """SHA-256 of all that ``tokenizer/`` holds, whatever the time and the machine."""
        return folder_fingerprint(self.tokenizer).sha256

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Writes ``results.json``; NaN and infinity become null."""
        write_json(self.results_file, _finite(dict(results)))

    def results(self) -> dict[str, Any] | None:
        """The content of ``results.json``, or None where the run has not ended.

        Raises:
            RunError: When it cannot be read.
        """
        return read_results(self.results_file)


def read_results(path: Path) -> dict[str, Any] | None:
    """The content of a file of final figures, or None where there is none.

    Raises:
        RunError: When it cannot be read.
    """
    try:
        found = parse_json(read_file(path))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RunError(f"{path}: is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise RunError(f"{path}: must hold an object. Received: {type(found).__name__}")
    return found


def _append(path: Path, row: Mapping[str, Any]) -> None:
    """Appends a line, flushed to the disk; a line that finds no room leaves no part of itself.

    Raises:
        OSError: With the path, which an error of writing lacks.
    """
    line = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode()
    with path.open("ab", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        try:
            if file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except OSError as error:
            file.truncate(end)
            raise OSError(error.errno, error.strerror, str(path)) from None


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
