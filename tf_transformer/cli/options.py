"""Arguments and options that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

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
    str, typer.Option(metavar="NAME", help="best, last, average, or the step of a kept checkpoint.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no notes on stderr.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# Read by `main` from the words of the command line; declared so that the parser and --help know it.
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error arose.")]
