"""The verbs that use a trained model: ``predict`` and ``evaluate``."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tf_transformer.cli.options import AsJson, Checkpoint, Debug, Output, Quiet, RunOrExport, bounded
from tf_transformer.cli.progress import progress
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import teller
from tf_transformer.cli.task_options import check_options
from tf_transformer.cli.texts import one_line, reading, writing
from tf_transformer.presets import GREATEST_SEED, LONGEST_ANSWER, MOST_HYPOTHESES

if TYPE_CHECKING:
    from tf_transformer.cli.task_face import TaskFace

Tokenize = Literal["13a", "intl", "zh", "char", "none"]
Tag = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The tag of all lines, such as a language, for a model that was trained with tags.",
        show_default=False,
    ),
]


def predict(
    model: RunOrExport,
    input: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Lines to read in place of stdin; .gz too.", show_default=False),
    ] = None,
    output: Output = None,
    checkpoint: Checkpoint = None,
    beam: Annotated[
        int | None,
        typer.Option(
            callback=bounded(1, MOST_HYPOTHESES),
            metavar="N",
            help=f"Hypotheses kept alive, 1 (greedy) to {MOST_HYPOTHESES}. Default: the recipe's.",
            show_default=False,
        ),
    ] = None,
    n_best: Annotated[
        int,
        typer.Option(
            callback=bounded(1, MOST_HYPOTHESES),
            metavar="N",
            help="Answers for each line, best first, on N lines.",
        ),
    ] = 1,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            callback=bounded(0, 100),
            metavar="A",
            help="Exponent of the length: score = log P / length^A (mean) or log P / ((5 + length) / 6)^A "
            "(gnmt), as decoding.length_formula of the recipe says. Default: the recipe's.",
            show_default=False,
        ),
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(
            callback=bounded(1, LONGEST_ANSWER),
            metavar="N",
            help="Most pieces of an answer. Default: the recipe's rule.",
            show_default=False,
        ),
    ] = None,
    tag: Tag = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Put the score and a tab before each answer.")
    ] = False,
    temperature: Annotated[
        float | None,
        typer.Option(
            callback=bounded(0, 100),
            metavar="T",
            help="Below 1 likely pieces become likelier, 0 takes the likeliest. Default: the recipe's.",
            show_default=False,
        ),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            callback=bounded(0, GREATEST_SEED),
            metavar="N",
            help="Draw from so many of the likeliest pieces, 0 for all. Default: the recipe's.",
            show_default=False,
        ),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            callback=bounded(1e-6, 1),
            metavar="P",
            help="Draw from the likeliest pieces that have this probability. Default: the recipe's.",
            show_default=False,
        ),
    ] = None,
    repetition_penalty: Annotated[
        float | None,
        typer.Option(
            callback=bounded(0.01, 100),
            metavar="X",
            help="Above 1, pieces that were there before are less likely. Default: the recipe's.",
            show_default=False,
        ),
    ] = None,
    no_repeat: Annotated[
        int | None,
        typer.Option(
            callback=bounded(0, LONGEST_ANSWER),
            metavar="N",
            help="So many pieces in a row never come twice. Default: the recipe's.",
            show_default=False,
        ),
    ] = None,
    ban: Annotated[
        list[str] | None,
        typer.Option(metavar="PIECE", help="A piece that is never drawn; may be given again."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            callback=bounded(0, GREATEST_SEED),
            metavar="N",
            help="Seed of what is drawn: the same gives the same. Default: the recipe's.",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Show each piece of an answer as soon as it is there.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Answer lines: translate them, go on from them, or give them labels.

    One line in gives one line out, in order, empty lines too. With --n-best N there are N lines out for
    each line in. With --json a line out is one object.
    A line that is too long for a model loses its end; such lines are counted on stderr.
    A translator that reads several columns takes them with tabs between, in the order of its recipe.
    One that was trained with tags needs --tag, or at the beginning of each line its tag and a tab.
    A language model reads and writes \\n for a line end within a text, and \\\\ for a backslash.
    For a classifier of pictures, or of series, a line is the path of a file.

    \b
    Example: echo "I love you." | tf-transformer predict runs/quickstart
             tf-transformer predict runs/quickstart --input in.txt --output out.txt --beam 8
             echo "ROMEO:" | tf-transformer predict runs/shakespeare_characters --stream
             ls *.png | tf-transformer predict runs/mnist_5k --scores
    """
    if beam is not None and n_best > beam:
        raise typer.BadParameter(f"must be at most --beam, which is {beam}", param_hint="--n-best")
    check_options(
        model,
        "predict",
        {
            "--checkpoint": checkpoint,
            "--beam": beam,
            "--n-best": n_best if n_best > 1 else None,
            "--length-penalty": length_penalty,
            "--max-length": max_length,
            "--tag": tag,
            "--scores": scores,
            "--temperature": temperature,
            "--top-k": top_k,
            "--top-p": top_p,
            "--repetition-penalty": repetition_penalty,
            "--no-repeat": no_repeat,
            "--ban": ban,
            "--seed": seed,
            "--stream": stream,
        },
    )
    if stream and (output is not None or as_json or scores or n_best > 1):
        raise typer.BadParameter(
            "goes with none of --output, --json, --scores and --n-best", param_hint="--stream"
        )
    options = {
        "input": str(input or "stdin"),
        "tag": tag,
        "beam": beam,
        "n-best": n_best,
        "length-penalty": length_penalty,
        "max-length": max_length,
        "scores": scores,
        "json": as_json,
        "temperature": temperature,
        "top-k": top_k,
        "top-p": top_p,
        "repetition-penalty": repetition_penalty,
        "no-repeat": no_repeat,
        "ban": ban,
        "seed": seed,
        "stream": stream,
    }
    say = teller(quiet)
    if output is None:
        sys.stdout.write("")  # fails now, not when all is done, where stdout is closed
    with reading(input) as groups:
        with quiet_import():
            from tf_transformer.cli.answering import open_answering
        answering = open_answering(model, checkpoint)
        _introduce(answering, say)
        with writing(output) as write, progress("lines", quiet) as advance:
            answering.predict(groups, write, advance, options)
    for remark in answering.remarks():
        say(remark)


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
    check_options(model, "evaluate", {"--checkpoint": checkpoint, **own})
    if tag is not None and source is None:
        raise typer.BadParameter("is for the text of --source; the recipe's has its own", param_hint="--tag")
    sys.stdout.write("")  # fails now, not when all is done, where stdout is closed
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
        from tf_transformer.cli.scoring import report, score, titled
    options = {"source": source, "target": target, "tag": tag, "folder": folder, "tokenize": tokenize}
    answering = open_answering(model, checkpoint)
    say = teller(quiet)
    _introduce(answering, say)
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


def _introduce(answering: "TaskFace", say: Callable[[str], None]) -> None:
    for line in (*answering.notes, answering.name):
        say(line)
