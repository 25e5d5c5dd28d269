"""The verb that makes data ready for training: ``prepare``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tf_transformer.cli.options import Debug, Overrides, Quiet, RecipeFile
from tf_transformer.cli.progress import progress
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.errors import RunError, printable

if TYPE_CHECKING:
    from tf_transformer.build.preparation import Preparation

_MOST_SHARDS, _MOST_WORKERS = 10**6, 1024


def prepare(
    recipe: RecipeFile,
    overrides: Overrides = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where it goes. Default: the recipe's data.prepared, else prepared/ beside the recipe.",
            show_default=False,
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_MOST_SHARDS,
            metavar="N",
            help="About so many files of ids. Default: one for 262144 lines.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_MOST_WORKERS,
            metavar="N",
            help="Processes, this one too; each takes 0.4 GB beside the 0.5 GB that they share. "
            "Default: one for each core.",
            show_default=False,
        ),
    ] = None,
    runner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Deal the shards out by Apache Beam (pip install 'tf-transformer[beam]'): DirectRunner, "
            "FlinkRunner, SparkRunner, DataflowRunner ... DIR must be in sight of all its machines.",
            show_default=False,
        ),
    ] = None,
    runner_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="--NAME=VALUE",
            help="An option of the Beam pipeline; repeat for several.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove what was prepared there before.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Tokenise training text once, for corpora larger than memory.

    The vocabulary is found from text.vocabulary_lines rows at most; then the text is cleaned and encoded, in
    parallel and in little memory, into files with checksums. The same command continues where it stopped.
    A recipe that says data.prepared trains from there.

    \b
    Example: tf-transformer prepare recipe.yaml --output prepared --workers 8
    """
    if runner_option and runner is None:
        raise typer.BadParameter("--runner-option needs --runner")
    from tf_transformer.recipe import load_recipe
    from tf_transformer.run_folder.lock import locked

    found = load_recipe(recipe, overrides or ())
    there = getattr(found.data, "prepared", None)
    folder = output or (there.parent if there is not None else recipe.parent / "prepared")
    if there is not None:
        found = found.replaced("data", prepared=None)
    with quiet_import():
        from tf_transformer.build.preparation import LOCK, Preparation
        from tf_transformer.build.prepared_index import finish, report_lines

    def say(line: str) -> None:
        if not quiet:
            print(printable(line), file=sys.stderr)

    try:
        with locked(folder, LOCK, "--output"):
            work = Preparation(found, folder.absolute(), shards, say)
            if work.begin(fresh):
                _prepare(work, workers, runner, runner_option or [], quiet)
                finish(work)
                for line in report_lines(work):
                    say(line)
            else:
                say(f"{folder}: is complete")
    except OSError as error:
        where = error.filename or folder
        raise RunError(f"{where}: {error.strerror or error}; the same command continues") from None
    print(f"data.prepared: {folder}")


def _prepare(
    work: "Preparation", workers: int | None, runner: str | None, options: list[str], quiet: bool
) -> None:
    """The vocabulary, then all shards that are not there yet."""
    from tf_transformer.build.beam import by_beam
    from tf_transformer.processes import cores, in_processes

    count = workers or cores()
    work.make_tokenizer(lambda task, jobs: in_processes(task, jobs, count, _start))
    left = work.shards_left()
    if len(left) < len(work.agenda.shards):
        work.say(f"{len(work.agenda.shards) - len(left):,} of {len(work.agenda.shards):,} shards are there")
    if runner is not None:
        by_beam(work.work(), left, runner, options)
        return
    with progress("lines", quiet, sum(job.lines for job in left)) as advance:
        threads = max(cores() // count, 1)
        for lines in in_processes(work.work(threads), left, count, _start):
            advance(lines)


def _start() -> None:
    """What a worker imports first, without the lines that TensorFlow prints meanwhile."""
    with quiet_import():
        import tf_transformer.build.preparing  # noqa: F401
