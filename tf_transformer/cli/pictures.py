"""What the verbs that draw pictures have in common."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tf_transformer.cli.task_options import TASKS, task_of
from tf_transformer.cli.texts import output_fault

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Picture = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where the picture goes, .png or .svg. Default: the run's name and the kind of picture, here.",
        show_default=False,
    ),
]


def place(output: Path | None, default: str) -> Path:
    """Where a picture goes, refused before any work where it cannot."""
    from tf_transformer.plots.files import picture_fault

    file = Path(default) if output is None else output
    if fault := picture_fault(file) or output_fault(file):
        raise typer.BadParameter(fault, param_hint="--output")
    return file


def check_task(run: Path, noun: str, tasks: Collection[str]) -> str | None:
    """Refuses a run of another task before anything is loaded; where none can be told, loading says why."""
    task = task_of(run, exported=False)
    if task is not None and task not in tasks:
        raise typer.BadParameter(f"is drawn for {noun}, and this is {TASKS[task].noun}", param_hint="RUN")
    return task


def keep(figure: "Figure", file: Path, say: Callable[[str], None]) -> None:
    """Writes a picture, and says so where letters had to be written as code points."""
    from tf_transformer.plots.files import save
    from tf_transformer.plots.fonts import missing_note

    save(figure, file)
    if note := missing_note():
        say(note)
