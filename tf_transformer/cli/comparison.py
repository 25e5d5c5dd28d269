"""The verb that puts two models side by side: ``compare``."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tf_transformer.cli.options import AsJson, Debug, Quiet, bounded
from tf_transformer.cli.predict_options import Input, Tag
from tf_transformer.cli.progress import progress
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import introduce, teller
from tf_transformer.cli.task_options import TASKS, check_options, task_of
from tf_transformer.cli.texts import reading
from tf_transformer.errors import DataError, printable

if TYPE_CHECKING:
    from tf_transformer.cli.compared import Compared
    from tf_transformer.cli.task_face import TaskFace


def _model(metavar: str, which: str) -> Any:
    return typer.Argument(
        metavar=metavar, help=f"The {which} model: folder of a run, or of an export.", show_default=False
    )


def compare(
    old: Annotated[Path, _model("OLD", "old")],
    new: Annotated[Path, _model("NEW", "new")],
    input: Input = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Right answers, one a line: which model is better.", show_default=False
        ),
    ] = None,
    tag: Tag = None,
    lines: Annotated[
        int, typer.Option(callback=bounded(0, 10**6), metavar="N", help="Differing answers to show.")
    ] = 10,
    most: Annotated[
        float | None,
        typer.Option(
            callback=bounded(0, 100),
            metavar="PERCENT",
            help="Exit with 1 where more of the answers differ.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Show where two models answer differently, before one takes the place of the other.

    Runs and exports in any mix, of one task; each answers as predict does. Scores of equal answers, or
    probabilities of labels, are compared, too. With --reference also BLEU of both, and by paired bootstrap
    resampling whether the difference may be chance; for classifiers
    the accuracy, by McNemar's exact test.

    Exit codes: 0 when both were compared, whatever differs; 1 for a failure, or where more answers differ
    than --most allows; 2 for a wrong command line.

    \b
    Example: tf-transformer compare runs/quickstart exports/quickstart --input in.txt
             tf-transformer compare runs/old runs/new --input in.txt --reference right.txt --most 5
    """
    for model in (old, new):
        check_options(model, "predict", {"--tag": tag})
    _check_tasks(old, new, reference)
    asked = _all_lines(input)
    right = None if reference is None else _all_lines(reference)
    if right is not None and len(right) != len(asked):
        raise DataError(
            f"{reference}: must have as many lines as {input or 'stdin'}. "
            f"Received: {len(right)} and {len(asked)}"
        )
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
        from tf_transformer.cli.compared import answers_of, compared, plain, shown
    say, faces, answers = teller(quiet), [], []
    for model in (old, new):
        face = open_answering(model, None)
        introduce(face, say)
        with progress("lines", quiet, total=len(asked)) as advance:
            answers.append(answers_of(face, asked, str(input or "stdin"), tag, advance))
        for remark in face.remarks():
            say(remark)
        faces.append(face)
    found = compared(asked, *answers)
    if right is not None and asked:
        found = _measured(found, faces[0], right)
    names = faces[0].name, faces[1].name
    if as_json:
        print(json.dumps(plain(found, names), ensure_ascii=False, indent=2))
    else:
        print("\n".join(map(_visible, shown(found, lines))))
    return int(most is not None and found.share > most)


def _visible(line: str) -> str:
    return "\n".join(map(printable, line.split("\n"))) if sys.stdout.isatty() else line


def _check_tasks(old: Path, new: Path, reference: Path | None) -> None:
    from tf_transformer.manifest import is_export

    tasks = [task_of(model, is_export(model)) for model in (old, new)]
    if None not in tasks and tasks[0] != tasks[1]:
        nouns = [TASKS[str(task)].noun for task in tasks]
        raise typer.BadParameter(f"must be of one task: {old} is {nouns[0]}, {new} is {nouns[1]}")
    if reference is not None and "generate" in tasks:
        rule = "is not for language models: no answer is the right one"
        raise typer.BadParameter(rule, param_hint="--reference")


def _all_lines(path: Path | None) -> list[str]:
    with reading(path) as groups:
        return [line for group in groups for line in group]


def _measured(found: "Compared", face: "TaskFace", right: list[str]) -> "Compared":
    """The same with what right answers say of both."""
    from tf_transformer.cli.compared import said
    from tf_transformer.scores.paired import paired_accuracy, paired_bleu

    old, new = ([said(answer) for answer in answers] for answers in (found.old, found.new))
    if found.old and "label" in found.old[0]:
        return replace(found, accuracy=paired_accuracy(old, new, right))
    measured = face.exported.manifest if face.run is None else face.run.recipe.evaluation
    references = [face.task.normalize(right)]
    return replace(found, bleu=paired_bleu(old, new, references, tokenize=measured.tokenize))
