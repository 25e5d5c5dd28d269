"""The verb that lists runs: ``runs``, and ``runs diff`` that compares two of them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from tf_transformer.cli.figures import figure_text
from tf_transformer.cli.options import AsJson, Debug, Quiet, bounded
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.seeds import spread_text
from tf_transformer.cli.streams import teller
from tf_transformer.cli.tables import aligned
from tf_transformer.errors import RunError, clock, counted, printable

if TYPE_CHECKING:
    from tf_transformer.run_folder import Overview

_HEAD = ("run", "task", "recipe", "seed", "state", "updates", "best on dev", "test", "time")
_NUMBERS = (3, 5, 8)


class _Runs(TyperGroup):
    """``runs [DIR]`` lists, whatever its arguments are; ``runs diff`` compares."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args[:1] == ["diff"] else ["list", *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == "list" else name, command, rest


runs = typer.Typer(
    cls=_Runs,
    help="List runs with their figures; diff A B: what two differ in.",
    add_completion=False,
    rich_markup_mode=None,
)


@runs.callback()
def _runs() -> None:
    """Holds the two together."""


@runs.command("list")
def list_runs(
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

    tf-transformer runs diff A B compares two runs; see its --help.

    \b
    Example: tf-transformer runs runs
             tf-transformer runs diff runs/old runs/new
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


@runs.command("diff")
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder of a run.", show_default=False)],
    b: Annotated[Path, typer.Argument(metavar="B", help="Folder of another.", show_default=False)],
    split: Annotated[
        Literal["dev", "test"] | None,
        typer.Option(
            help="Have both answer this set, the first of that name in their recipes, by their best "
            "checkpoints, and test whether the difference may be chance. Default: their recorded samples.",
            show_default=False,
        ),
    ] = None,
    lines: Annotated[
        int, typer.Option(callback=bounded(0, 10**6), metavar="N", help="Differing answers to show.")
    ] = 10,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what two runs differ in.

    The keys of their recipes that differ, their final figures side by side (of the newest validation, where a
    training is not complete), and the answers that differ, word by word: [-only in A-] {+only in B+}. With
    --split translations are compared by sacreBLEU's paired bootstrap resampling, labels by McNemar's exact
    test; for other text see compare.

    \b
    Example: tf-transformer runs diff runs/old runs/new
             tf-transformer runs diff runs/old runs/new --split test
    """
    from tf_transformer.cli.run_differences import differences_of, plain, shown

    found = differences_of(a, b)
    if split is not None:
        with quiet_import():
            from tf_transformer.cli.run_answers import answers_of
        found = replace(found, answers=answers_of((a, b), split, quiet))
    if as_json:
        print(json.dumps(plain(found), ensure_ascii=False, indent=2))
        return
    for line in shown(found, lines):
        print(printable(line))
