"""What a folder of runs holds, and where each of them stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tf_transformer.errors import RunError
from tf_transformer.recipe import recipe_digest
from tf_transformer.run_folder.folder import RunFolder

_DEEPEST = 3
"""Folders within folders that are looked through."""


@dataclass(frozen=True)
class Overview:
    """One run at a glance; its fields are those of ``tf-transformer runs --json``.

    Args:
        run: Its folder.
        task: What is trained.
        recipe_sha256: Which recipe, as ``tf-transformer check`` says it.
        seed: Of the recipe.
        state: Whether it is complete, being trained now, or neither.
        step: Updates behind its newest validation, or behind its results.
        seconds: Training time until then.
        measure: The name of the figure that the best checkpoint is chosen by.
        best: Its best value on dev; None before the first validation.
        best_step: Updates behind that one.
        test: The name of the figure of the first test set that is shown; None where there is none.
        test_value: Its value.
    """

    run: str
    task: str
    recipe_sha256: str
    seed: int
    state: Literal["finished", "running", "interrupted"]
    step: int
    seconds: float
    measure: str
    best: float | None
    best_step: int | None
    test: str | None
    test_value: float | None


def find_runs(folder: Path) -> Iterator[tuple[Path, bool]]:
    """The folders in a folder, each with whether it is a run; of those that hold runs, the runs.

    Args:
        folder: Of runs, or itself a run.

    Raises:
        RunError: When there is no such folder.
    """
    if not folder.is_dir():
        raise RunError(f"{folder}: there is no such folder")
    if RunFolder(folder).exists():
        yield folder, True
        return
    yield from _found(folder, _DEEPEST)


def _found(folder: Path, depth: int) -> Iterator[tuple[Path, bool]]:
    try:
        entries = sorted(entry for entry in folder.iterdir() if entry.is_dir() and entry.name[0] != ".")
    except OSError:  # one that may not be read holds nothing to tell of
        return
    home = folder.resolve()
    for entry in entries:
        if home.is_relative_to(entry.resolve()):  # a link back to where this began
            continue
        if RunFolder(entry).exists():
            yield entry, True
            continue
        inner = list(_found(entry, depth - 1)) if depth > 1 else []
        yield from inner if any(is_run for _, is_run in inner) else [(entry, False)]


def overview_of(path: Path) -> Overview:
    """One run at a glance.

    Raises:
        RunError: When its files cannot be read; names the file.
    """
    folder = RunFolder.open(path)
    recipe, rows, results = folder.recipe(), folder.metrics(), folder.results() or {}
    name = recipe.training.best_by
    best = _best(rows, f"val_{name}", lowest=name == "loss")
    last = rows[-1] if rows else {"step": 0}
    # A run that was complete and is trained further has results of before.
    complete = bool(results) and _number(results, "step") >= last["step"]
    figures = results.get("metrics") if complete else None
    test, value = _test(figures if isinstance(figures, dict) else {}, name)
    latest = results if complete else last
    return Overview(
        run=str(path),
        task=recipe.task,
        recipe_sha256=recipe_digest(recipe),
        seed=recipe.training.seed,
        state="running" if folder.trainer() else "finished" if complete else "interrupted",
        step=int(_number(latest, "step")),
        seconds=_number(latest, "seconds"),
        measure=name,
        best=None if best is None else best[1],
        best_step=None if best is None else best[0],
        test=test,
        test_value=value,
    )


def _best(rows: list[dict[str, Any]], name: str, lowest: bool) -> tuple[int, float] | None:
    found = [(row["step"], _number(row, name)) for row in rows if isinstance(row.get(name), int | float)]
    if not found:
        return None
    return min(found, key=lambda each: each[1]) if lowest else max(found, key=lambda each: each[1])


def _test(figures: dict[str, Any], name: str) -> tuple[str | None, float | None]:
    """The figure of test that is shown: what dev is measured by, where test is."""
    there = [
        each for each, value in figures.items() if each.startswith("test_") and isinstance(value, int | float)
    ]
    shown = f"test_{name}" if f"test_{name}" in there else next(iter(there), None)
    return shown, None if shown is None else float(figures[shown])


def _number(values: dict[str, Any], name: str) -> float:
    value = values.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
