"""The verb that measures a trained model: ``evaluate``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from tf_transformer.cli.options import AsJson, Checkpoint, Debug, Devices, Output, Quiet, RunOrExport
from tf_transformer.cli.predict_options import Tag
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import introduce, teller
from tf_transformer.cli.task_options import check_options
from tf_transformer.cli.texts import one_line, writing

Tokenize = Literal["13a", "intl", "zh", "char", "none"]


def evaluate(
    model: RunOrExport,
    split: Annotated[
        Literal["test", "dev"], typer.Option(help="The recipe's sets to score; for runs.")
    ] = "test",
    source: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Other text to score: its source side.", show_default=False),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Other text to score: its references.", show_default=False),
    ] = None,
    tag: Tag = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Other examples to score: a folder with a subfolder for each class.",
            show_default=False,
        ),
    ] = None,
    tokenize: Annotated[
        Tokenize | None,
        typer.Option(help="sacreBLEU's tokenizer for BLEU. Default: the recipe's.", show_default=False),
    ] = None,
    checkpoint: Checkpoint = None,
    devices: Devices = None,
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Score a test set.

    Translation: BLEU with a 95 % interval, chrF and TER with sacreBLEU's signatures, and exact matches;
    ROUGE where evaluation.rouge of the recipe asks for it. --source is read as predict reads its lines.
    Language models: nats and bits a character, each piece of the text counted once; --source alone names
    another text.
    Classifiers: accuracy, F1 of each class and their mean, who is taken for whom, and calibration (ECE);
    --source names other texts and --target their labels, --folder other pictures or series.

    \b
    Example: tf-transformer evaluate runs/quickstart
             tf-transformer evaluate runs/quickstart --source in.txt --target out.txt --json
    """
    own = {
        "--source": source,
        "--target": target,
        "--tag": tag,
        "--folder": folder,
        "--tokenize": tokenize,
    }
    check_options(model, "evaluate", {"--checkpoint": checkpoint, "--devices": devices, **own})
    if tag is not None and source is None:
        raise typer.BadParameter("is for the text of --source; the recipe's has its own", param_hint="--tag")
    sys.stdout.write("")  # fails now, not when all is done, where stdout is closed
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
        from tf_transformer.cli.scoring import report, score, titled
    options = {"source": source, "target": target, "tag": tag, "folder": folder, "tokenize": tokenize}
    answering = open_answering(model, checkpoint, devices=devices or "auto")
    say = teller(quiet)
    introduce(answering, say)
    given = answering.given_set(options)
    sets, notes = ([given[0]], given[1]) if given is not None else answering.recipe_sets(split)
    for line in notes:
        say(line)
    outcome = score(answering.evaluator(options), sets, split, answering.UNIT, quiet)
    if output is not None:
        with writing(output) as write:
            write(one_line(text) for found in outcome.sets for text in found.answers)
    if as_json:
        print(json.dumps(report(answering.name, outcome), ensure_ascii=False, indent=2))
        return
    for one, found in zip(sets, outcome.sets, strict=True):
        print("\n".join([titled(one, answering.UNIT), *found.lines]))
