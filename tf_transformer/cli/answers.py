"""The verbs that use a trained model: ``predict`` and ``evaluate``."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tf_transformer.cli.options import AsJson, Checkpoint, Debug, Output, Quiet, RunOrExport, bounded
from tf_transformer.cli.progress import progress
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.texts import one_line, reading, writing
from tf_transformer.errors import counted, printable
from tf_transformer.presets import LONGEST_ANSWER, MOST_HYPOTHESES

if TYPE_CHECKING:
    from tf_transformer.cli.answering import Answering
    from tf_transformer.tasks import Hypothesis

Tokenize = Literal["13a", "intl", "zh", "char", "none"]


def predict(
    model: RunOrExport,
    input: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Text to read in place of stdin; .gz too.", show_default=False),
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
    scores: Annotated[
        bool, typer.Option("--scores", help="Put the score and a tab before each answer.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Translate lines of text.

    One line in gives one line out, in order, empty lines too. With --n-best N there are N lines out for
    each line in. With --json a line out is one object.
    A line that is too long for the model loses its end; such lines are counted on stderr.

    \b
    Example: echo "I love you." | tf-transformer predict runs/quickstart
             tf-transformer predict runs/quickstart --input in.txt --output out.txt --beam 8
    """
    if beam is not None and n_best > beam:
        raise typer.BadParameter(f"must be at most --beam, which is {beam}", param_hint="--n-best")
    _refuse_for_exports(
        model,
        {
            "--checkpoint": checkpoint,
            "--beam": beam,
            "--length-penalty": length_penalty,
            "--max-length": max_length,
        },
    )
    say = _teller(quiet)
    if output is None:
        sys.stdout.write("")  # fails now, not when all is done, where stdout is closed
    with reading(input) as groups:
        with quiet_import():
            from tf_transformer.cli.answering import RunAnswers, open_answering
        answering = open_answering(model, checkpoint)
        _introduce(answering, say)
        search: dict[str, Any] = {}
        if beam is not None:
            search["beam_size"] = beam
        elif isinstance(answering, RunAnswers) and n_best > answering.loaded.task.options.beam_size:
            search["beam_size"] = n_best
        if length_penalty is not None:
            search["length_penalty"] = length_penalty
        if max_length is not None:
            search |= {"max_length_factor": 0.0, "max_length_margin": max_length}
        cut = unfinished = 0
        with writing(output) as write, progress("lines", quiet) as advance:
            for texts in groups:
                found = answering.answer(texts, n_best, search)
                cut += answering.count_cut(texts)
                unfinished += sum(answers[0].finished is False for answers in found)
                for text, answers in zip(texts, found, strict=True):
                    write(_shown(text, answers, n_best, scores, as_json))
                advance(len(texts))
    if cut:
        say(f"the end of {counted(cut, 'line')} was not read: the model does not read that far")
    if unfinished:
        say(f"{counted(unfinished, 'answer')} reached the longest length allowed before the end")


def _shown(text: str, answers: "list[Hypothesis]", n_best: int, scores: bool, as_json: bool) -> Iterator[str]:
    if as_json:
        objects = [_plain(answer) for answer in answers]
        shown = {"source": text, "answers": objects} if n_best > 1 else {"source": text, **objects[0]}
        yield json.dumps(shown, ensure_ascii=False)
        return
    for answer in answers:
        yield f"{answer.score:.4f}\t{one_line(answer.text)}" if scores else one_line(answer.text)


def _plain(answer: "Hypothesis") -> dict[str, Any]:
    values = {
        "text": answer.text,
        "score": answer.score,
        "log_probability": answer.log_probability,
        "finished": answer.finished,
    }
    return {name: value for name, value in values.items() if value is not None}


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
    """Translate a test set and score it.

    BLEU with a 95 % interval, chrF and TER with sacreBLEU's signatures, and exact matches.

    \b
    Example: tf-transformer evaluate runs/quickstart
             tf-transformer evaluate runs/quickstart --source in.txt --target out.txt --json
    """
    if (source is None) != (target is None):
        raise typer.BadParameter("--source and --target must be given together")
    sys.stdout.write("")  # fails now, not when all is done, where stdout is closed
    is_export = _refuse_for_exports(model, {"--checkpoint": checkpoint})
    if is_export and source is None:
        raise typer.BadParameter(f"{model}: an exported model has no data: name --source and --target")
    with quiet_import():
        from tf_transformer.cli.answering import open_answering
        from tf_transformer.cli.scoring import given_set, recipe_sets, report, score
    answering = open_answering(model, checkpoint)
    say = _teller(quiet)
    _introduce(answering, say)
    sets = given_set(source, target, answering) if source and target else recipe_sets(answering, split)
    for line in (line for found in sets for line in found.notes):
        say(line)
    outcomes = [score(answering, found, quiet, tokenize) for found in sets]
    if output is not None:
        with writing(output) as write:
            write(one_line(text) for outcome in outcomes for text in outcome.translations)
    if as_json:
        print(json.dumps(report(answering, outcomes, split), ensure_ascii=False, indent=2))
        return
    for outcome in outcomes:
        print("\n".join(outcome.to_lines()))


def _refuse_for_exports(model: Path, options: Mapping[str, object]) -> bool:
    """Whether a folder is an export; refuses options that are for runs, before anything is loaded."""
    from tf_transformer.manifest import is_export

    if not is_export(model):
        return False
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"is for runs, and {model} is an exported model", param_hint=name)
    return True


def _introduce(answering: "Answering", say: Callable[[str], None]) -> None:
    for line in (*answering.notes, answering.name):
        say(line)


def _teller(quiet: bool) -> Callable[[str], None]:
    def say(line: str) -> None:
        if not quiet:
            print(printable(line), file=sys.stderr)

    return say
