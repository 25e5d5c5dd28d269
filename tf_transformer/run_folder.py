"""The folder of a run: what lies where, who may write, and how its records grow.

::

    runs/quickstart/
      recipe.yaml       resolved: every key, absolute and relative paths, a checksum of each file
      versions.json     the format of this folder and the packages that wrote it
      lock              who trains in it now; not there when nobody does
      tokenizer/  checkpoints/  tensorboard/  samples/
      metrics.jsonl     one object a validation
      events.jsonl      what happened beside: a changed recipe, a damaged checkpoint
      events.jsonl      one object for each thing that happened to the run, such as a changed key
      results.json      the final figures
"""

import fcntl
import importlib.metadata
import json
import math
import os
import platform
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tf_transformer import __version__
from tf_transformer.errors import RecipeError, RunError
from tf_transformer.files import sync_folder, write_bytes, write_json, write_text
from tf_transformer.recipe import Recipe, dump_recipe, load_recipe, short_overrides

RUN_FORMAT = 1
_TIME = "%Y-%m-%d %H:%M:%S"
_PACKAGES = ("tensorflow", "keras", "tensorflow-text", "keras-nlp", "sentencepiece", "sacrebleu", "numpy")


def default_run_path(recipe: Path, overrides: Sequence[str] = ()) -> Path:
    """Where a run goes when nobody says: ``runs/<recipe folder>-<file stem>``, ``-recipe`` left out.

    Overrides are added in short form, so that two seeds or two sweeps never share a folder.

    Args:
        recipe: Path of the recipe.
        overrides: The overrides given with it, ``section.key=value``.
    """
    recipe = recipe.absolute()
    name = "-".join(part for part in (recipe.parent.name, recipe.stem) if part).removesuffix("-recipe")
    short = short_overrides(overrides)
    return Path("runs") / (f"{name}-{short}" if short else name)


def versions() -> dict[str, Any]:
    """The format of run folders, and the versions of what writes them; imports none of it."""
    found: dict[str, Any] = {
        "run_format": RUN_FORMAT,
        "tf_transformer": __version__,
        "python": platform.python_version(),
    }
    for package in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package.replace("-", "_")] = importlib.metadata.version(package)
    return found


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
            raise RunError(f"{path}: there is no such run folder")
        if not run.exists():
            raise RunError(f"{path}: is no run: it has no recipe.yaml with a versions.json beside it")
        run.check_format()
        return run

    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self.recipe_file.is_file() and self.versions_file.is_file()

    def create(self, recipe: Recipe) -> None:
        """Begins a run: makes the folder and writes the recipe and the versions.

        Args:
            recipe: The resolved recipe, with records of its files.

        Raises:
            RunError: When the folder holds something that is no run.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        others = sorted({entry.name for entry in self.path.iterdir()} - {self._lock_file.name})
        # A run killed while it was begun has versions.json alone; that is no reason to stop.
        if others and not self.exists() and others != [self.versions_file.name]:
            raise RunError(
                f"{self.path}: is no run and not empty ({others[0]} is in it); name another with --run"
            )
        self.samples.mkdir(exist_ok=True)
        write_json(self.versions_file, versions())
        self.write_recipe(recipe)

    def check_format(self) -> None:
        """Refuses a folder that a newer version of this package has written.

        Raises:
            RunError: Then, or when versions.json cannot be read.
        """
        try:
            found = json.loads(self.versions_file.read_text(encoding="utf-8"))["run_format"]
            newer = int(found) > RUN_FORMAT
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{self.versions_file}: says no run_format ({error!r})") from None
        if newer:
            raise RunError(
                f"{self.path}: is a run of format {found}, and this version reads up to {RUN_FORMAT}; "
                "install the newer tf-transformer to use it"
            )

    def write_recipe(self, recipe: Recipe) -> None:
        """Writes the resolved recipe."""
        write_text(self.recipe_file, dump_recipe(recipe))

    def recipe(self) -> Recipe:
        """Reads the resolved recipe; the files it names need not be on this machine.

        Raises:
            RunError: When it is missing or was damaged.
        """
        try:
            return load_recipe(self.recipe_file, check_files=False)
        except RecipeError as error:
            raise RunError(str(error)) from None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps every other trainer out while the block runs; the system lets go when a process dies.

        Raises:
            RunError: When another process trains here; names it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with self._locked_file() as file:
            owner = {
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "since": time.strftime(_TIME),
            }
            file.seek(0)
            file.truncate()
            file.write(json.dumps(owner).encode())
            file.flush()
            try:
                yield
            finally:
                with suppress(FileNotFoundError):
                    self._lock_file.unlink()

    def _locked_file(self) -> IO[bytes]:
        while True:
            file = self._lock_file.open("a+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The owner before removes the file when it ends: a lock on a removed file keeps nobody out.
                if os.fstat(file.fileno()).st_ino == self._lock_file.stat().st_ino:
                    return file
            except FileNotFoundError:
                pass
            except BlockingIOError:
                file.seek(0)
                owner = _owner(file.read())
                file.close()
                raise RunError(
                    f"{self.path}: is in use by {owner}; wait for it, or name another --run"
                ) from None
            file.close()

    def move_aside(self) -> Path | None:
        """Renames the folder to ``<name>.old-<n>`` so that a run can start over; nothing is deleted.

        Returns:
            The new path, or None where there was nothing.

        Raises:
            RunError: When another process trains here.
        """
        if not self.path.exists():
            return None
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
        _append(self.events_file, {"time": time.strftime(_TIME), "event": event, "detail": detail})

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
        lines = self.metrics_file.read_bytes().split(b"\n")[:-1]
        found = []
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                row["step"] + 0
            except (ValueError, TypeError, KeyError):
                raise RunError(f"{self.metrics_file}:{number}: is no object with a step") from None
            found.append((line + b"\n", row))
        return found

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Writes ``results.json``; NaN and infinity become null."""
        write_json(self.results_file, _finite(dict(results)))

    def results(self) -> dict[str, Any] | None:
        """The content of ``results.json``, or None where the run has not ended.

        Raises:
            RunError: When it cannot be read.
        """
        try:
            found: dict[str, Any] = json.loads(self.results_file.read_bytes())
            return found
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise RunError(f"{self.results_file}: is no JSON ({error})") from None


def _append(path: Path, row: Mapping[str, Any]) -> None:
    with path.open("ab") as file:
        file.write((json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def record_results(run: Path, recipe: Path, seed: int) -> Path:
    """Copies a run's final figures to ``results/`` beside its recipe.

    Args:
        run: The run folder.
        recipe: The recipe's file; the copy is named after it.
        seed: The seed that the file says; a run of another one is recorded under its seed too.

    Returns:
        The copy.

    Raises:
        RunError: When the run has no figures yet.
    """
    results = RunFolder(run).results()
    if results is None:
        raise RunError(f"{run}: has no results.json yet; training writes it when it ends")
    other = "" if results["seed"] == seed else f"-{results['seed']}"
    copy = recipe.parent / "results" / f"{recipe.stem}{other}.json"
    copy.parent.mkdir(exist_ok=True)
    write_json(copy, results)
    return copy


def _append_line(path: Path, row: Mapping[str, Any]) -> None:
    line = json.dumps(_finite(dict(row)), ensure_ascii=False, allow_nan=False) + "\n"
    with path.open("ab") as file:
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def _owner(content: bytes) -> str:
    try:
        owner = json.loads(content)
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
