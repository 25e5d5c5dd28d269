"""The verb that lists runs: ``runs``."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tf_transformer.cli.figures import figure_text
from tf_transformer.cli.options import AsJson, Debug, Quiet
from tf_transformer.cli.streams import teller
from tf_transformer.errors import RunError, clock, printable

if TYPE_CHECKING:
    from tf_transformer.run_folder import Overview

_HEAD = ("run", "task", "recipe", "seed", "state", "updates", "best on dev", "test", "time")


def runs(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="A folder of runs.")] = Path("runs"),
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """List runs with their figures.

    The measure of dev is what the best checkpoint is chosen by; test is scored when a training is complete.
    Runs of one recipe and seed have the same recipe, the beginning of its SHA-256. What is no run, or cannot
    be read, is named on stderr.

    \b
    Example: tf-transformer runs runs
    """
    from tf_transformer.run_folder import find_runs, overview_of

    say, found = teller(quiet), []
    for path, is_run in find_runs(folder):
        if not is_run:
            say(f"{path}: is no run")
            continue
        try:
            found.append(overview_of(path))
        except (RunError, OSError) as error:
            say(f"{path}: is broken: {error}")
    if as_json:
        print(json.dumps([asdict(each) for each in found], indent=2))
        return
    if not found:
        say(f"{folder}: holds no run that can be read")
        return
    for line in aligned([_HEAD, *(_cells(each) for each in found)]):
        print(printable(line))


def _cells(found: "Overview") -> tuple[str, ...]:
    best = "-" if found.best is None else figure_text(found.measure, found.best)
    test = (
        "-" if found.test is None else figure_text(found.test.removeprefix("test_"), found.test_value or 0.0)
    )
    digest, step = found.recipe_sha256[:8], f"{found.step:,}"
    time = clock(found.seconds)
    return found.run, found.task, digest, str(found.seed), found.state, step, best, test, time


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = (3, 5, 8)) -> list[str]:
    """Rows of cells as lines of a table.

    Args:
        rows: Equally many cells each.
        right: The columns of numbers.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
