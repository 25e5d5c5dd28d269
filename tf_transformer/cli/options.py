"""Arguments and options that several verbs share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tf_transformer.cli.texts import output_fault


def _checkpoint(name: str | None) -> str | None:
    """Refuses what can be no checkpoint before anything is loaded."""
    if name is not None:
        from tf_transformer.checkpoints import name_fault

        if fault := name_fault(name):
            raise typer.BadParameter(fault)
    return name


def _devices(wanted: str | None) -> str | None:
    """Refuses what names no devices."""
    if wanted is not None:
        from tf_transformer.recipe.training_section import DEVICES_RULE, names_devices

        if not names_devices(wanted):
            raise typer.BadParameter(f"{DEVICES_RULE}. Received: {wanted}")
    return wanted


def bounded(least: float, most: float) -> Callable[[Any], Any]:
    """A check of an option's number, NaN included, that says both bounds and what was received."""

    def check(value: Any) -> Any:
        if value is not None and not least <= value <= most:
            raise typer.BadParameter(f"must be from {least} to {most}. Received: {value}")
        return value

    return check


def _output(path: Path | None) -> Path | None:
    """Refuses a place that cannot be written before the work is done."""
    if path is not None and (fault := output_fault(path)):
        raise typer.BadParameter(fault)
    return path


RecipeFile = Annotated[
    Path, typer.Argument(metavar="RECIPE", help="The recipe, a YAML file.", show_default=False)
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[section.key=value]...",
        help="Values in place of the recipe's. Paths in them start at the current folder.",
        show_default=False,
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)]
RunOrExport = Annotated[
    Path,
    typer.Argument(
        metavar="RUN_OR_EXPORT", help="Folder of a run, or of an exported model.", show_default=False
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="best (default), last, average, or the step of a kept checkpoint; for runs.",
        show_default=False,
        callback=_checkpoint,
    ),
]
Devices = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="auto (default: all GPUs, else the CPU), cpu:2 or gpu:4; for runs.",
        show_default=False,
        callback=_devices,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where answers go, in place of stdout; .gz too.",
        show_default=False,
        callback=_output,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no notes on stderr.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# Read by `main` from the words of the command line; declared so that the parser and --help know it.
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error arose.")]
