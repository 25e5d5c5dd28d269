"""The verbs that show or give away what is inside a run: ``export`` and ``inspect``."""

import json
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tf_transformer.cli.options import Checkpoint, Debug, Overrides, Quiet, RunFolder, bounded
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.errors import ExportError, counted, printable
from tf_transformer.presets import ExportKind, WeightKind

if TYPE_CHECKING:
    from tf_transformer.export.versions import Card
    from tf_transformer.manifest import Manifest


def export(
    run: RunFolder,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where versions go: DIR/1, DIR/2 and so on.", show_default=False),
    ],
    format: Annotated[ExportKind, typer.Option(help="What will run it.")] = "savedmodel",
    weights: Annotated[
        WeightKind, typer.Option(help="How weights are stored: fewer bytes, and a little other answers.")
    ] = "float32",
    checkpoint: Checkpoint = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write and verify a SavedModel, or a model for CTranslate2.

    A SavedModel takes strings and gives strings, anywhere TensorFlow runs. A clean process without this
    package loads it and must answer as the run does. An export whose answers differ is refused.

    With --format ctranslate2 a translator is written for that runtime, the fastest there is on a CPU, with
    its vocabulary and its tokenizer beside it, and verified sentence by sentence against the run. predict,
    evaluate and score take either export in place of a run.

    README.md beside the model is its model card: data and licences, figures, training and limits, as the run
    and the section about of its recipe say them. It is yours to go on with.

    Other weights than float32 must come close to the run's probabilities; manifest.json says how close.

    \b
    Example: tf-transformer export runs/quickstart exports/quickstart
             tf-transformer export runs/quickstart exports/fast --format ctranslate2 --weights int8
    """
    from tf_transformer.manifest import export_fault

    if fault := export_fault(folder, format):
        raise typer.BadParameter(fault, param_hint="DIR")
    if format == "ctranslate2" and find_spec("ctranslate2") is None:
        raise ExportError("--format ctranslate2 needs ctranslate2: pip install 'tf-transformer[ctranslate2]'")
    with quiet_import():
        from tf_transformer.build import load_run

    loaded = load_run(run, checkpoint or "best")
    version, manifest = _write(loaded, folder, format, weights)
    if not quiet:
        for note in (*loaded.notes, *_told(loaded.checkpoint, manifest)):
            print(printable(note), file=sys.stderr)
    print(version)


def _write(loaded: Any, folder: Path, format: ExportKind, weights: WeightKind) -> tuple[Path, "Manifest"]:
    from tf_transformer.recipe import recipe_digest
    from tf_transformer.run_folder import versions

    facts = {
        "checkpoint": loaded.checkpoint,
        "step": loaded.step,
        "recipe_sha256": recipe_digest(loaded.recipe),
        "versions": {name: str(version) for name, version in versions().items()},
        **loaded.problem.manifest_facts(),
    }
    common: dict[str, Any] = {
        "samples": loaded.problem.samples(loaded.folder),
        "facts": facts,
        "weights": weights,
        "card": _card(loaded),
    }
    if format == "ctranslate2":
        from tf_transformer.export.ctranslate2_model import export_ctranslate2

        return export_ctranslate2(loaded.task, folder, **common)
    from tf_transformer.export.saved_model import export_saved_model

    def fresh() -> Any:
        return loaded.problem.task(loaded.task.model, loaded.task.side)

    return export_saved_model(loaded.task, folder, fresh=fresh, **common)


def _card(loaded: Any) -> "Card":
    """What writes the model card of a run's export."""
    from tf_transformer.export.model_card import CardFacts, figures_of, model_card

    words = loaded.problem.WORDS
    facts = CardFacts(
        recipe=loaded.recipe,
        name=loaded.folder.path.absolute().name,
        pipeline=words.pipeline,
        call=words.call,
        limits=list(loaded.problem.limits()),
        parameters=loaded.task.model.count_params(),
        figures=figures_of(loaded.folder, loaded.checkpoint, loaded.step),
    )
    return lambda manifest, version: model_card(facts, manifest, version, time.strftime("%Y-%m-%d"))


def _told(checkpoint: str, manifest: "Manifest") -> Iterator[str]:
    """What was written, for a person."""
    found = manifest.verification
    checked = found.get("sentences") or found.get("examples", 0)
    needs = "needs TensorFlow alone"
    if manifest.kind == "ctranslate2":
        needs = "needs ctranslate2"
    elif manifest.python_modules:
        needs = f"needs {', '.join(manifest.python_modules)}"
    yield f"checkpoint {checkpoint}; {counted(checked, 'answer')} verified; {needs}"
    if "rounding" in found:
        moved = found["rounding"]
        far = f"{moved['mean']:.4f} in the mean, {moved['greatest']:.4f} at most"
        yield f"{manifest.weights} moves {moved['of']} by {far}"
    if manifest.kind == "ctranslate2":
        beams = " and ".join(map(str, found["beams"]))
        yield (
            f"by beams of {beams} without a length penalty, {counted(found['num_different'], 'answer')} of "
            f"{checked * len(found['beams']):,} differ from the run's; as the recipe searches, "
            f"{checked - found['same_by_the_recipe']:,} of {checked:,}"
        )


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
    positions: Annotated[
        int,
        typer.Option(
            callback=bounded(0, 10**6),
            metavar="N",
            help="Positions of the first row to show side by side: what is read, what is to be said.",
        ),
    ] = 12,
    json_output: Annotated[bool, typer.Option("--json", help="Print all as one JSON object.")] = False,
    debug: Debug = False,
) -> None:
    """Show a real batch, what the data is like, and the model.

    What was read, dropped, cut and noticed. For each set, what the tokenizer does not know, the most frequent
    first, and rows that are too long. What dev and test share with train: whole rows, and rows of which one
    side is there, with examples, normalised as in training.

    Then text, pieces, ids, mask and shifted targets of the first batch, and the weights. The tokenizer of a
    recipe is trained for it; that of a run is read.

    \b
    Example: tf-transformer inspect training/quickstart/recipe.yaml
             tf-transformer inspect runs/quickstart --rows 1 --positions 40
    """
    from tf_transformer.recipe import load_recipe

    is_run = recipe_or_run.is_dir()
    if is_run and overrides:
        raise typer.BadParameter("overrides are for a recipe, and this is the folder of a run")
    recipe = None if is_run else load_recipe(recipe_or_run, overrides or ())
    with quiet_import():
        from tf_transformer.cli.inspection import inspect_recipe, inspect_run
        from tf_transformer.cli.inspection_lines import inspection_lines

    found = inspect_run(recipe_or_run) if recipe is None else inspect_recipe(recipe)
    if json_output:
        print(json.dumps(found.to_dict(rows), ensure_ascii=False))
        return
    for line in inspection_lines(found, rows, positions):
        print(printable(line))
