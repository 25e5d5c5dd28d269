"""The verb that draws pictures: ``plot``, with one word for each kind."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tf_transformer.cli.options import Debug, Overrides, Quiet, RecipeFile, bounded
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.texts import output_fault
from tf_transformer.errors import printable

SMALLEST, LARGEST = 1e-12, 1e6
"""Rates that a range test takes."""

plot = typer.Typer(
    help="Draw a picture, as PNG or SVG.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)


@plot.callback()
def _plot() -> None:
    """Holds the kinds of pictures together."""


@plot.command("lr-range")
def lr_range(
    recipe: RecipeFile,
    overrides: Overrides = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the picture goes, .png or .svg. Default: the run's name with -lr-range.png, here.",
            show_default=False,
        ),
    ] = None,
    lowest: Annotated[
        float, typer.Option(callback=bounded(SMALLEST, LARGEST), metavar="RATE", help="The first rate.")
    ] = 1e-6,
    highest: Annotated[
        float, typer.Option(callback=bounded(SMALLEST, LARGEST), metavar="RATE", help="The last rate.")
    ] = 1.0,
    updates: Annotated[
        int, typer.Option(callback=bounded(2, 10**6), metavar="N", help="Updates from one to the other.")
    ] = 100,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Find a learning rate by trying them all.

    A new model takes real updates at a rate that grows each time, until its loss runs away. The picture
    shows the loss over the rate; what is printed is a rate to try as the schedule's peak. No run is begun.

    \b
    Example: tf-transformer plot lr-range training/quickstart/recipe.yaml --output range.png
    """
    from tf_transformer.plots.files import picture_fault, save
    from tf_transformer.recipe import load_recipe
    from tf_transformer.run_folder import default_run_path

    found = load_recipe(recipe, overrides or ())
    name = default_run_path(recipe, overrides or ()).name
    file = output if output is not None else Path(f"{name}-lr-range.png")
    if fault := picture_fault(file) or output_fault(file):
        raise typer.BadParameter(fault, param_hint="--output")
    if lowest >= highest:
        raise typer.BadParameter(
            f"must be less than --highest, which is {highest:g}. Received: {lowest:g}", param_hint="--lowest"
        )
    with quiet_import():
        from tf_transformer.plots.rate_range import rate_range_figure
        from tf_transformer.rate_range import rate_range_of

    def say(line: str) -> None:
        if not quiet:
            print(printable(line), file=sys.stderr)

    seen = rate_range_of(found, lowest=lowest, highest=highest, updates=updates, say=say)
    figure = rate_range_figure(seen.rates, seen.losses, seen.smoothed, suggested=seen.suggested, title=name)
    save(figure, file)
    end = "the loss ran away" if seen.exploded else "the loss did not run away"
    say(f"{len(seen.rates)} updates, the last at a rate of {seen.rates[-1]:.2g}: {end}; {file} shows it")
    print(f"{seen.suggested:.2g}" if seen.suggested is not None else "none: the loss fell at no rate")
