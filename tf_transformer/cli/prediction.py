"""The verb that uses a trained model: ``predict``."""

import sys
from typing import Any

import typer

from tf_transformer.cli.options import AsJson, Checkpoint, Debug, Devices, Output, Quiet, RunOrExport
from tf_transformer.cli.predict_options import (
    Alternatives,
    Ban,
    Beam,
    CoveragePenalty,
    Details,
    Diversity,
    Ensemble,
    Input,
    LengthPenalty,
    MaxLength,
    MaxLengthFactor,
    MinLength,
    MinLengthFactor,
    NBest,
    NoRepeat,
    OnLong,
    Prefix,
    RepetitionPenalty,
    ReplaceUnknown,
    Sample,
    Scores,
    Seed,
    Stream,
    Tag,
    Temperature,
    TopK,
    TopP,
)
from tf_transformer.cli.progress import progress
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import introduce, teller
from tf_transformer.cli.task_options import check_options
from tf_transformer.cli.texts import reading, writing


def predict(
    model: RunOrExport,
    input: Input = None,
    output: Output = None,
    checkpoint: Checkpoint = None,
    devices: Devices = None,
    ensemble: Ensemble = None,
    beam: Beam = None,
    n_best: NBest = 1,
    length_penalty: LengthPenalty = None,
    max_length: MaxLength = None,
    max_length_factor: MaxLengthFactor = None,
    min_length: MinLength = None,
    min_length_factor: MinLengthFactor = None,
    tag: Tag = None,
    prefix: Prefix = None,
    alternatives: Alternatives = None,
    scores: Scores = False,
    details: Details = False,
    coverage_penalty: CoveragePenalty = None,
    diversity: Diversity = None,
    replace_unknown: ReplaceUnknown = False,
    on_long: OnLong = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    repetition_penalty: RepetitionPenalty = None,
    no_repeat: NoRepeat = None,
    ban: Ban = None,
    seed: Seed = None,
    stream: Stream = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Answer lines: translate them, go on from them, or give them labels.

    One line in gives one line out, in order, empty lines too. With --n-best N there are N lines out for
    each line in. With --json a line out is one object.
    A line that is too long for a model loses its end unless --on-long says otherwise; such lines are counted
    on stderr.
    A translator that reads several columns takes them with tabs between, in the order of its recipe.
    One that was trained with tags needs --tag, or at the beginning of each line its tag and a tab.
    A language model reads and writes \\n for a line end within a text, and \\\\ for a backslash.
    For a classifier of pictures, or of series, a line is the path of a file.

    \b
    Example: echo "I love you." | tf-transformer predict runs/quickstart
             tf-transformer predict runs/quickstart --input in.txt --output out.txt --beam 8
             tf-transformer predict runs/quickstart --ensemble runs/quickstart-seed2 --input in.txt
             echo "ROMEO:" | tf-transformer predict runs/shakespeare_characters --stream
             ls *.png | tf-transformer predict runs/mnist_5k --scores
    """
    given: dict[str, Any] = {
        "checkpoint": checkpoint,
        "devices": devices,
        "ensemble": ensemble,
        "beam": beam,
        "length-penalty": length_penalty,
        "max-length": max_length,
        "max-length-factor": max_length_factor,
        "min-length": min_length,
        "min-length-factor": min_length_factor,
        "tag": tag,
        "prefix": prefix,
        "alternatives": alternatives,
        "scores": scores,
        "details": details,
        "coverage-penalty": coverage_penalty,
        "diversity": diversity,
        "replace-unknown": replace_unknown,
        "on-long": on_long,
        "sample": sample,
        "temperature": temperature,
        "top-k": top_k,
        "top-p": top_p,
        "repetition-penalty": repetition_penalty,
        "no-repeat": no_repeat,
        "ban": ban,
        "seed": seed,
        "stream": stream,
    }
    named = {f"--{name}": value for name, value in given.items()}
    check_options(model, "predict", {**named, "--n-best": n_best if n_best > 1 else None})
    options = {**given, "input": str(input or "stdin"), "n-best": n_best, "json": as_json}
    _check_together(options, output is not None)
    say = teller(quiet)
    if output is None:
        sys.stdout.write("")  # fails now, not when all is done, where stdout is closed
    with reading(input) as groups:
        with quiet_import():
            from tf_transformer.cli.answering import open_answering
        answering = open_answering(model, checkpoint, ensemble or (), devices or "auto")
        introduce(answering, say)
        with writing(output) as write, progress("lines", quiet) as advance:
            answering.predict(groups, write, advance, options)
    for remark in answering.remarks():
        say(remark)


def _check_together(options: dict[str, Any], to_file: bool) -> None:
    """Refuses options that do not go together."""
    beam, number = options["beam"], options["n-best"]
    if beam is not None and number > beam and not options["sample"]:
        raise typer.BadParameter(f"must be at most --beam, which is {beam}", param_hint="--n-best")
    if options["stream"] and (to_file or options["json"] or options["scores"] or number > 1):
        raise typer.BadParameter(
            "goes with none of --output, --json, --scores and --n-best", param_hint="--stream"
        )
    if options["details"] and not options["json"]:
        raise typer.BadParameter("goes with --json alone", param_hint="--details")
    if options["alternatives"] is not None and (options["sample"] or number > 1):
        raise typer.BadParameter("goes with none of --n-best and --sample", param_hint="--alternatives")
