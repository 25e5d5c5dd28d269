"""The verbs that show or give away what is inside a run: ``export`` and ``inspect``."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from tf_transformer.cli.options import Checkpoint, Debug, Overrides, Quiet, RunFolder, bounded
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.errors import counted, printable


def export(
    run: RunFolder,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where versions go: DIR/1, DIR/2 and so on.", show_default=False),
    ],
    format: Annotated[Literal["savedmodel"], typer.Option(help="What is written.")] = "savedmodel",
    checkpoint: Checkpoint = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write and verify a SavedModel.

    It takes strings and gives strings, anywhere TensorFlow runs. A clean process without this package
    loads it and must answer as the run does. An export whose answers differ is refused.

    \b
    Example: tf-transformer export runs/quickstart exports/quickstart
    """
    from tf_transformer.manifest import export_fault
    from tf_transformer.run_folder import versions

    if fault := export_fault(folder):
        raise typer.BadParameter(fault, param_hint="DIR")
    with quiet_import():
        from tf_transformer.build import load_run
        from tf_transformer.export.saved_model import export_saved_model
    from tf_transformer.recipe import recipe_digest

    loaded = load_run(run, checkpoint or "best")
    facts = {
        "checkpoint": loaded.checkpoint,
        "step": loaded.step,
        "recipe_sha256": recipe_digest(loaded.recipe),
        "versions": {name: str(version) for name, version in versions().items()},
        **loaded.problem.manifest_facts(),
    }
    version, manifest = export_saved_model(
        loaded.task, folder, samples=loaded.problem.samples(loaded.folder), facts=facts
    )
    for note in () if quiet else loaded.notes:
        print(printable(note), file=sys.stderr)
    if not quiet:
        needs = (
            f"needs {', '.join(manifest.python_modules)}"
            if manifest.python_modules
            else "needs TensorFlow alone"
        )
        checked = manifest.verification.get("sentences") or manifest.verification.get("examples", 0)
        verified = f"{counted(checked, 'answer')} verified"
        print(f"checkpoint {loaded.checkpoint}; {verified}; {needs}", file=sys.stderr)
    print(version)


def inspect(
    recipe_or_run: Annotated[
        Path,
        typer.Argument(metavar="RECIPE_OR_RUN", help="A recipe, or the folder of a run.", show_default=False),
    ],
    overrides: Overrides = None,
    rows: Annotated[
        int,
        typer.Option(callback=bounded(1, 10**6), metavar="N", help="Rows of the first batch to show."),
    ] = 3,
    debug: Debug = False,
) -> None:
    """Show a real batch, and the model.

    Text, pieces, ids, mask and shifted targets of the first batch; shares of padding and unknown pieces.
    The tokenizer of a recipe is trained for it; that of a run is read.

    \b
    Example: tf-transformer inspect training/quickstart/recipe.yaml
    """
    from tf_transformer.recipe import load_recipe

    is_run = recipe_or_run.is_dir()
    if is_run and overrides:
        raise typer.BadParameter("overrides are for a recipe, and this is the folder of a run")
    recipe = None if is_run else load_recipe(recipe_or_run, overrides or ())
    with quiet_import():
        from tf_transformer.cli.inspection import inspect_recipe, inspect_run
    lines = inspect_run(recipe_or_run, rows) if recipe is None else inspect_recipe(recipe, rows)
    for line in lines:
        print(printable(line))
