"""Pictures of runs: ``plot curves``, ``attention``, ``confusion`` and ``rollout``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tf_transformer.cli.figures import figure_title
from tf_transformer.cli.options import Checkpoint, Debug, Quiet, RunFolder, bounded
from tf_transformer.cli.pictures import Picture, check_task, keep, place
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import teller
from tf_transformer.cli.task_options import TASKS
from tf_transformer.cli.told_apart import run_name, told_apart
from tf_transformer.errors import RunError

MOST_PICTURES = 64
"""Pictures that are laid out on one sheet."""
KINDS = {
    "translate": ("cross", "encoder", "decoder"),
    "classify_text": ("encoder",),
    "generate": ("decoder",),
}
"""The kinds of attention that there are to see, by task; the first is the default."""


def curves(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)
    ],
    over: Annotated[
        Literal["updates", "minutes"], typer.Option(help="What the curves are drawn over.")
    ] = "updates",
    output: Picture = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what validations said, of several runs beside each other.

    The loss, the measure that chooses the best checkpoint, the learning rate and the speed.

    \b
    Example: tf-transformer plot curves runs/quickstart runs/quickstart-seed=2 --output curves.svg
    """
    from tf_transformer.run_folder import RunFolder as Folder

    folders = {name: Folder.open(run) for name, run in told_apart(runs).items()}
    file = place(output, f"{run_name(runs[0])}-curves.png" if len(runs) == 1 else "curves.png")
    rows = {name: folder.metrics() for name, folder in folders.items()}
    for name, found in rows.items():
        if not found:
            raise RunError(f"{folders[name].path}: has no validation yet, so there is nothing to draw")
    measures = list(dict.fromkeys(folder.recipe().training.best_by for folder in folders.values()))
    from tf_transformer.plots.curves import curves_figure

    names = {name for found in rows.values() for row in found for name in row}
    figure = curves_figure(rows, _panels(measures, names), over="step" if over == "updates" else "seconds")
    keep(figure, file, teller(quiet))
    print(file)


def _panels(measures: Sequence[str], names: set[str]) -> list[Any]:
    """The charts of runs that are measured so; the names of all figures that they have."""
    from tf_transformer.plots.curves import Panel

    panels = [Panel("loss (nats)", "val_loss", "loss", "lowest")]
    wanted = [measure for measure in measures if measure != "loss"]
    if not wanted:
        wanted = [name for name in ("nats_per_character", "accuracy") if f"val_{name}" in names][:1]
    for name in wanted:
        best = "lowest" if name.startswith("nats") else "highest"
        panels.append(Panel(figure_title(name), f"val_{name}", best=best))
    panels.append(Panel("learning rate", "learning_rate"))
    speeds = sorted(name for name in names if name.endswith("_per_second"))
    # What is predicted counts, where what is read is counted too.
    speeds = [name for name in speeds if not name.startswith("source")] or speeds
    for name in speeds[:1]:
        panels.append(Panel(f"{name.removesuffix('_per_second').replace('_', ' ')} a second", name))
    return panels


def attention(
    run: RunFolder,
    sentence: Annotated[str, typer.Argument(metavar="TEXT", help="As predict takes it.", show_default=False)],
    target: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="A translation to look at, in place of the model's own."),
    ] = None,
    kind: Annotated[
        Literal["cross", "encoder", "decoder"] | None,
        typer.Option(help="cross: a translation's tokens at the source's; or self-attention."),
    ] = None,
    layer: Annotated[
        int | None,
        typer.Option(callback=bounded(1, 1000), metavar="N", help="From 1; by default the last."),
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(callback=bounded(1, 65536), metavar="N", help="One alone; by default each of them."),
    ] = None,
    output: Picture = None,
    checkpoint: Checkpoint = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what a model looks at.

    A row is a token that looks, or that is predicted next where a translation looks at its source; a column
    is a token that is looked at, and each row sums to 1. Of several heads the average is drawn too. For
    translators, language models and classifiers of text; see plot rollout for pictures.

    \b
    Example: tf-transformer plot attention runs/quickstart "I love you." --output attention.svg
    """
    shown = _kind(check_task(run, "tasks on text", KINDS), kind, target)
    name = run_name(run)
    file = place(output, f"{name}-attention.png")
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
        from tf_transformer.cli.looking import look
        from tf_transformer.plots.attention import attention_figure
    answering: Any = open_answering(run, checkpoint)
    say = teller(quiet)
    say(answering.name)
    looked = look(answering.task, sentence, target)
    weights, names, what = _chosen(answering.task.model.attention(looked.inputs)[shown], layer, head)
    rows, columns = looked.sides[shown]
    title = f"{name}: {'cross-attention' if shown == 'cross' else f'self-attention of the {shown}'}, {what}"
    keep(attention_figure(weights, columns, rows, title, names=names), file, say)
    if looked.answer is not None:
        say(f"answer: {looked.answer}")
    print(file)


def _kind(task: str | None, kind: str | None, target: str | None) -> str:
    """The kind of attention that is drawn, refused before anything is loaded where a task has none of it."""
    kinds = KINDS.get(task or "", ("cross",))
    if task is not None and kind is not None and kind not in kinds:
        rule = f"must be {' or '.join(kinds)}, as this is {TASKS[task].noun}. Received: {kind}"
        raise typer.BadParameter(rule, param_hint="--kind")
    if target is not None and task not in (None, "translate"):
        raise typer.BadParameter("is for translators", param_hint="--target")
    return kind or kinds[0]


def _chosen(layers: Sequence[Any], layer: int | None, head: int | None) -> tuple[Any, list[str] | None, str]:
    """Weights `[heads, rows, columns]` of one layer, the heads' names where not all are drawn, and which."""
    import numpy as np

    number = _within("--layer", layer, len(layers)) or len(layers)
    weights = np.asarray(layers[number - 1])[0]
    if _within("--head", head, len(weights)) is None:
        return weights, None, f"layer {number}"
    return weights[[(head or 1) - 1]], [f"head {head}"], f"layer {number}"


def _within(option: str, number: int | None, most: int) -> int | None:
    if number is not None and number > most:
        raise typer.BadParameter(
            f"must be from 1 to {most} in this model. Received: {number}", param_hint=option
        )
    return number


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
    check_task(run, "classifiers", [task for task in TASKS if task.startswith("classify_")])
    file = place(output, f"{run_name(run)}-confusion.png")
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
    title = f"{run_name(run)}: {titled(found, answering.UNIT)}, accuracy {scores.values['accuracy']:.2%}"
    keep(confusion_figure(scores.confusion, scores.titles, title), file, say)
    print(file)


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
    check_task(run, "classifiers of pictures", ["classify_images"])
    file = place(output, f"{run_name(run)}-rollout.png")
    if len(pictures) > MOST_PICTURES:
        rule = f"must be at most {MOST_PICTURES} on a sheet. Received: {len(pictures)}"
        raise typer.BadParameter(rule, param_hint="PICTURE")
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
        from tf_transformer.plots.rollout import rollout_figure
    answering: Any = open_answering(run, checkpoint)
    say = teller(quiet)
    say(answering.name)
    task = answering.task
    pixels = task.pixels(pictures)
    names = [
        f"{picture.name}: {answer.label} {answer.probability:.0%}"
        for picture, answer in zip(pictures, task.answers(pixels), strict=True)
    ]
    keep(rollout_figure(pixels, task.relevance(pixels), names), file, say)
    print(file)
