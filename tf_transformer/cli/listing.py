"""The verb that lists runs: ``runs``."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tf_transformer.cli.figures import figure_text
from tf_transformer.cli.options import AsJson, Debug, Quiet
from tf_transformer.cli.seeds import spread_text
from tf_transformer.cli.streams import teller
from tf_transformer.cli.tables import aligned
from tf_transformer.errors import RunError, clock, counted, printable

if TYPE_CHECKING:
    from tf_transformer.run_folder import Overview

_HEAD = ("run", "task", "recipe", "seed", "state", "updates", "best on dev", "test", "time")
_NUMBERS = (3, 5, 8)


def runs(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="A folder of runs.")] = Path("runs"),
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """List runs with their figures.

    The measure of dev is what the best checkpoint is chosen by; test is scored when a training is complete.
    Runs of one recipe and seed have the same recipe, the beginning of its SHA-256. What is no run, or cannot
    be read, is named on stderr. Below the runs of train --seeds stands the mean of those that are finished,
    with their deviation.

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
    for line in aligned([_HEAD, *_rows(found)], _NUMBERS):
        print(printable(line))


def _rows(found: Sequence["Overview"]) -> Iterator[tuple[str, ...]]:
    """A row a run, and one more below the runs of several seeds."""
    from tf_transformer.run_folder.seeds import SeedsFolder

    for folder, group in groupby(found, lambda each: Path(each.run).parent):
        runs = list(group)
        yield from map(_cells, runs)
        if SeedsFolder(folder).results_file.is_file():
            yield _mean(folder, runs)


def _mean(folder: Path, runs: Sequence["Overview"]) -> tuple[str, ...]:
    """The mean of the runs of several seeds that are finished, and their deviation."""
    done = [each for each in runs if each.state == "finished"]
    state = f"{len(done)} of {len(runs)} finished"
    bests = [each.best for each in done if each.best is not None]
    tests = [each.test_value for each in done if each.test_value is not None]
    best = spread_text(done[0].measure, bests) if bests else "-"
    test = spread_text((done[0].test or "").removeprefix("test_"), tests) if tests else "-"
    time = clock(sum(each.seconds for each in runs))
    return f"{folder}: mean", runs[0].task, "", counted(len(runs), "seed"), state, "", best, test, time


def _cells(found: "Overview") -> tuple[str, ...]:
    best = "-" if found.best is None else figure_text(found.measure, found.best)
    test = (
        "-" if found.test is None else figure_text(found.test.removeprefix("test_"), found.test_value or 0.0)
    )
    digest, step = found.recipe_sha256[:8], f"{found.step:,}"
    time = clock(found.seconds)
    return found.run, found.task, digest, str(found.seed), found.state, step, best, test, time
