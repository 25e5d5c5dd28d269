"""Pictures of recipes: ``plot lr-range``, ``schedule``, ``lengths`` and ``positions``."""

from pathlib import Path
from typing import Annotated

import typer

from tf_transformer.cli.options import Debug, Overrides, Quiet, RecipeFile, bounded
from tf_transformer.cli.pictures import Picture, keep, place
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import teller
from tf_transformer.cli.told_apart import run_name

SMALLEST, LARGEST = 1e-12, 1e6
"""Rates that a range test takes."""
MOST_UPDATES = 10**9
MOST_POSITIONS = 4096


def lr_range(
    recipe: RecipeFile,
    overrides: Overrides = None,
    output: Picture = None,
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
    from tf_transformer.recipe import load_recipe
    from tf_transformer.run_folder import default_run_path

    found = load_recipe(recipe, overrides or ())
    name = default_run_path(recipe, overrides or ()).name
    file = place(output, f"{name}-lr-range.png")
    if lowest >= highest:
        raise typer.BadParameter(
            f"must be less than --highest, which is {highest:g}. Received: {lowest:g}", param_hint="--lowest"
        )
    with quiet_import():
        from tf_transformer.plots.rate_range import rate_range_figure
        from tf_transformer.rate_range import rate_range_of

    say = teller(quiet)
    seen = rate_range_of(found, lowest=lowest, highest=highest, updates=updates, say=say)
    figure = rate_range_figure(seen.rates, seen.losses, seen.smoothed, suggested=seen.suggested, title=name)
    keep(figure, file, say)
    end = "the loss ran away" if seen.exploded else "the loss did not run away"
    last = f"the last at a rate of {seen.rates[-1]:.2g}"
    say(f"{len(seen.rates)} updates, {last}: {end}; {file} shows it")
    print(f"{seen.suggested:.2g}" if seen.suggested is not None else "none: the loss fell at no rate")


def schedule(
    recipe: RecipeFile,
    overrides: Overrides = None,
    updates: Annotated[
        int | None,
        typer.Option(
            callback=bounded(2, MOST_UPDATES),
            metavar="N",
            help="Updates to draw; by default those of the recipe.",
            show_default=False,
        ),
    ] = None,
    output: Picture = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show the learning rate over the updates.

    The data is read only where the recipe counts in epochs. Of a schedule that falls by validations the rate
    without any fall is drawn.

    \b
    Example: tf-transformer plot schedule training/quickstart/recipe.yaml
    """
    from tf_transformer.recipe import load_recipe
    from tf_transformer.run_folder import default_run_path

    found = load_recipe(recipe, overrides or (), check_files=False)
    name = default_run_path(recipe, overrides or (), type(found)).name
    file = place(output, f"{name}-schedule.png")
    with quiet_import():
        from tf_transformer.cli.drawn_schedule import rates_of
        from tf_transformer.plots.schedule import schedule_figure
    say = teller(quiet)
    numbers, rates = rates_of(found, updates, say)
    title = f"{name}: {found.training.schedule.name}"
    keep(schedule_figure(rates, numbers, title), file, say)
    print(file)


def lengths(
    recipe: RecipeFile,
    overrides: Overrides = None,
    output: Picture = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show how long the training examples are.

    In pieces, as the model gets them: the data is read and the tokenizer trained. What is over the recipe's
    limits is left out or cut, as in training.

    \b
    Example: tf-transformer plot lengths training/quickstart/recipe.yaml
    """
    from tf_transformer.recipe import load_recipe
    from tf_transformer.run_folder import default_run_path

    found = load_recipe(recipe, overrides or ())
    name = default_run_path(recipe, overrides or (), type(found)).name
    file = place(output, f"{name}-lengths.png")
    if found.task == "classify_images":
        raise typer.BadParameter("is drawn for sequences, and pictures have one size", param_hint="RECIPE")
    with quiet_import():
        from tf_transformer.build import problem_of
        from tf_transformer.plots.lengths import lengths_figure
    say = teller(quiet)
    problem = problem_of(found)
    examples = problem.read()
    encoded = problem.encode(examples, problem.make_side(examples))
    for line in problem.report(examples, encoded):
        say(line)
    limits = {side: getattr(found.data, f"max_{side}_length", None) for side in encoded.lengths}
    given = {side: limit for side, limit in limits.items() if limit is not None}
    keep(lengths_figure(encoded.lengths, f"{name}: training data", limits=given), file, say)
    print(file)


def positions(
    recipe_or_run: Annotated[
        Path,
        typer.Argument(metavar="RECIPE_OR_RUN", help="A recipe, or the folder of a run.", show_default=False),
    ],
    overrides: Overrides = None,
    length: Annotated[
        int, typer.Option(callback=bounded(2, MOST_POSITIONS), metavar="N", help="How many.")
    ] = 100,
    output: Picture = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what tells positions apart.

    The table that is added to embeddings and how alike its rows are; of ALiBi what it makes of equal scores.
    Learned positions are those of a run.

    \b
    Example: tf-transformer plot positions training/quickstart/recipe.yaml --length 50
    """
    from tf_transformer.recipe import load_recipe
    from tf_transformer.run_folder import RunFolder, default_run_path

    is_run = recipe_or_run.is_dir()
    if is_run and overrides:
        raise typer.BadParameter("overrides are for a recipe, and this is the folder of a run")
    if is_run:
        found, name = RunFolder.open(recipe_or_run).recipe(), run_name(recipe_or_run)
    else:
        found = load_recipe(recipe_or_run, overrides or (), check_files=False)
        name = default_run_path(recipe_or_run, overrides or (), type(found)).name
    file = place(output, f"{name}-positions.png")
    kind = getattr(found.model, "positions", "none")
    if kind == "none":
        raise typer.BadParameter(
            "model.positions is none: there is nothing to draw", param_hint="RECIPE_OR_RUN"
        )
    if kind in ("learned", "relative") and not is_run:
        raise typer.BadParameter(f"{kind} positions are learnt: name a run", param_hint="RECIPE_OR_RUN")
    with quiet_import():
        from tf_transformer.cli.drawn_positions import positions_of
    keep(positions_of(found, recipe_or_run if is_run else None, length, name), file, teller(quiet))
    print(file)
