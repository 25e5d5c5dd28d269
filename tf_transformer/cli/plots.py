"""The verb that draws pictures: ``plot``, with one word for each kind."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tf_transformer.cli.options import Checkpoint, Debug, Overrides, Quiet, RecipeFile, RunFolder, bounded
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import teller
from tf_transformer.cli.task_options import TASKS, task_of
from tf_transformer.cli.texts import output_fault

SMALLEST, LARGEST = 1e-12, 1e6
"""Rates that a range test takes."""
MOST_PICTURES = 64
"""Pictures that are laid out on one sheet."""

Picture = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where the picture goes, .png or .svg. Default: the run's name and the kind of picture, here.",
        show_default=False,
    ),
]

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
    from tf_transformer.plots.files import save
    from tf_transformer.recipe import load_recipe
    from tf_transformer.run_folder import default_run_path

    found = load_recipe(recipe, overrides or ())
    name = default_run_path(recipe, overrides or ()).name
    file = _place(output, f"{name}-lr-range.png")
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
    save(figure, file)
    end = "the loss ran away" if seen.exploded else "the loss did not run away"
    last = f"the last at a rate of {seen.rates[-1]:.2g}"
    say(f"{len(seen.rates)} updates, {last}: {end}; {file} shows it")
    print(f"{seen.suggested:.2g}" if seen.suggested is not None else "none: the loss fell at no rate")


@plot.command("confusion")
def confusion(
    run: RunFolder,
    split: Annotated[
        Literal["test", "dev"], typer.Option(help="The recipe's sets; the first of them is drawn.")
    ] = "test",
    output: Picture = None,
    checkpoint: Checkpoint = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show which labels a classifier takes for which.

    A row is a label, a column an answer; a cell has the number of examples, and the colour of its share of
    the row.

    \b
    Example: tf-transformer plot confusion runs/trec_questions --output confusion.svg
    """
    from tf_transformer.plots.files import save

    _check_task(run, "classifiers", [task for task in TASKS if task.startswith("classify_")])
    file = _place(output, f"{run.resolve().name}-confusion.png")
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
        from tf_transformer.cli.progress import progress
        from tf_transformer.cli.scoring import titled
        from tf_transformer.plots.confusion import confusion_figure
    answering, say = open_answering(run, checkpoint), teller(quiet)
    say(answering.name)
    (found, *_), notes = answering.recipe_sets(split, "--split dev draws its dev set")
    for line in notes:
        say(line)
    with progress(f"{answering.UNIT}s", quiet, total=len(found)) as advance:
        evaluator: Any = answering.evaluator({})
        scores = evaluator.scores(found, advance)
    title = f"{run.resolve().name}: {titled(found, answering.UNIT)}, accuracy {scores.values['accuracy']:.2%}"
    save(confusion_figure(scores.confusion, scores.titles, title), file)
    print(file)


@plot.command("rollout")
def rollout(
    run: RunFolder,
    pictures: Annotated[
        list[Path], typer.Argument(metavar="PICTURE...", help="Picture files.", show_default=False)
    ],
    output: Picture = None,
    checkpoint: Checkpoint = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show where a classifier of pictures looks.

    Beside each picture stands the same with the share of its patches in the answer laid over it: attention
    rolled out through all layers. It says where the model looked, and not why it decided so.

    \b
    Example: tf-transformer plot rollout runs/mnist_5k three.png seven.png
    """
    from tf_transformer.plots.files import save

    _check_task(run, "classifiers of pictures", ["classify_images"])
    file = _place(output, f"{run.resolve().name}-rollout.png")
    if len(pictures) > MOST_PICTURES:
        rule = f"must be at most {MOST_PICTURES} on a sheet. Received: {len(pictures)}"
        raise typer.BadParameter(rule, param_hint="PICTURE")
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
        from tf_transformer.plots.rollout import rollout_figure
    answering: Any = open_answering(run, checkpoint)
    teller(quiet)(answering.name)
    task = answering.task
    pixels = task.pixels(pictures)
    names = [
        f"{picture.name}: {answer.label} {answer.probability:.0%}"
        for picture, answer in zip(pictures, task.answers(pixels), strict=True)
    ]
    save(rollout_figure(pixels, task.relevance(pixels), names), file)
    print(file)


def _place(output: Path | None, default: str) -> Path:
    """Where a picture goes, refused before any work where it cannot."""
    from tf_transformer.plots.files import picture_fault

    file = Path(default) if output is None else output
    if fault := picture_fault(file) or output_fault(file):
        raise typer.BadParameter(fault, param_hint="--output")
    return file


def _check_task(run: Path, noun: str, tasks: list[str]) -> None:
    """Refuses a run of another task before anything is loaded; where none can be told, loading says why."""
    task = task_of(run, exported=False)
    if task is not None and task not in tasks:
        raise typer.BadParameter(f"is drawn for {noun}, and this is {TASKS[task].noun}", param_hint="RUN")
