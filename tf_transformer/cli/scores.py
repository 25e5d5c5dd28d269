"""The verb that says how likely given translations are: ``score``."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tf_transformer.cli.options import AsJson, Checkpoint, Debug, Output, Quiet, RunOrExport
from tf_transformer.cli.predict_options import Tag
from tf_transformer.cli.progress import progress
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import introduce, teller
from tf_transformer.cli.task_options import check_options
from tf_transformer.cli.texts import reading, writing
from tf_transformer.errors import DataError

if TYPE_CHECKING:
    from tf_transformer.cli.task_face import TaskFace


def score(
    model: RunOrExport,
    input: Annotated[
        Path | None,
        typer.Option(
            metavar="TSV",
            help="Lines to read in place of stdin: a source, a tab and its translation; .gz too.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Sources, one a line; with --target.", show_default=False),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Their translations, one a line.", show_default=False),
    ] = None,
    tag: Tag = None,
    checkpoint: Checkpoint = None,
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say how likely given translations are.

    One line in gives one line out, in order: the natural logarithm of the translation's probability, its end
    included. With --json a line out is one object, with the ranking score and the log-probability of each
    piece and of the end.

    \b
    Example: tf-transformer score runs/quickstart --source in.txt --target out.txt
             paste in.txt out.txt | tf-transformer score runs/quickstart --json
    """
    if (source is None) != (target is None):
        raise typer.BadParameter("--source and --target must be given together")
    if source is not None and input is not None:
        raise typer.BadParameter("goes without --source and --target", param_hint="--input")
    check_options(model, "score", {"--checkpoint": checkpoint, "--tag": tag, "--target": True})
    if output is None:
        sys.stdout.write("")  # fails now, not when all is done, where stdout is closed
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
    answering = open_answering(model, checkpoint)
    introduce(answering, teller(quiet))
    with writing(output) as write, progress("lines", quiet) as advance:
        for sources, targets in _pairs(input, source, target):
            write(_scored(answering, sources, targets, tag, as_json))
            advance(len(sources))


def _scored(
    answering: "TaskFace", sources: list[str], targets: list[str], tag: str | None, as_json: bool
) -> Iterator[str]:
    from tf_transformer.cli.hypotheses import details

    options: dict[str, Any] = {"tag": tag, "input": "sources"}
    for line, found in zip(sources, answering.scores(sources, targets, options), strict=True):
        if not as_json:
            yield f"{found.log_probability:.4f}"
            continue
        values = {"score": found.score, "log_probability": found.log_probability}
        read = {} if found.details is None else details(found.details)
        yield json.dumps({"source": line, "target": found.text, **values, **read}, ensure_ascii=False)


def _pairs(
    table: Path | None, source: Path | None, target: Path | None
) -> Iterator[tuple[list[str], list[str]]]:
    """Sources and targets in groups."""
    if source is not None:
        with reading(source) as one, reading(target) as other:
            yield from _side_by_side(one, other, f"{source} and {target}")
        return
    read = 0
    with reading(table) as groups:
        for lines in groups:
            pairs = [line.rpartition("\t") for line in lines]
            for number, (_, tab, _) in enumerate(pairs, start=read + 1):
                if not tab:
                    raise DataError(f"{table or 'stdin'}:{number}: must be a source, a tab and a target")
            read += len(lines)
            yield [before for before, _, _ in pairs], [after for _, _, after in pairs]


def _side_by_side(
    one: Iterable[list[str]], other: Iterable[list[str]], names: str
) -> Iterator[tuple[list[str], list[str]]]:
    sides = [[line for group in groups for line in group] for groups in (one, other)]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"{names}: must have equally many lines. Received: {len(sides[0])} and {len(sides[1])}"
        )
    if sides[0]:
        yield sides[0], sides[1]
