"""What two runs answer to a set of their recipes, and which of them is better."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tf_transformer.cli.answering import open_answering
from tf_transformer.cli.compared import accuracy_line, bleu_line
from tf_transformer.cli.progress import progress
from tf_transformer.cli.run_differences import Answers
from tf_transformer.cli.streams import introduce, teller
from tf_transformer.cli.task_face import TaskFace
from tf_transformer.errors import RunError, counted
from tf_transformer.evaluation import EvaluationSet
from tf_transformer.evaluation.translation import references_of
from tf_transformer.run_folder.samples import Answered
from tf_transformer.scores.paired import paired_accuracy, paired_bleu


def answers_of(folders: tuple[Path, Path], split: str, quiet: bool) -> Answers:
    """Has both runs answer the first set of a split, by their best checkpoints.

    Raises:
        RunError: When their sets are not the same, or their task has no answers to compare.
    """
    say, faces, sets, answers = teller(quiet), [], [], []
    for folder in folders:
        face = open_answering(folder, None)
        introduce(face, say)
        found = face.recipe_sets(split)[0][0]
        faces.append(face)
        sets.append(found)
        _demand_equal(sets, folders, split)
        with progress(f"{face.UNIT}s", quiet, total=len(found)) as advance:
            answers.append(list(face.evaluator(_NOTHING).full(found, advance).answers))
        if not answers[-1]:
            raise RunError(
                f"{folder}: has no answers to compare: language models go on from a text as they like"
            )
    where = f"{sets[0].name or split}: {counted(len(sets[0]), faces[0].UNIT)}"
    return _tested(where, faces[0], sets[0], answers)


class _Nothing(dict[str, Any]):
    def __missing__(self, key: str) -> None:
        return None


_NOTHING = _Nothing()
"""Options of the command line none of which was given."""


def _demand_equal(sets: Sequence[EvaluationSet], folders: Sequence[Path], split: str) -> None:
    if any(_texts(each) != _texts(sets[0]) for each in sets[1:]):
        raise RunError(
            f"{folders[1]}: its first set of data.{split} is another one than that of {folders[0]}, so "
            "answers cannot be compared; compare --input has both answer one text"
        )


def _texts(found: EvaluationSet) -> list[list[str]]:
    return [[str(value) for value in column] for column in found.columns.values()]


def _tested(where: str, face: TaskFace, found: EvaluationSet, answers: Sequence[list[str]]) -> Answers:
    if "label" in found.columns:
        labels = [str(label) for label in found.columns["label"]]
        asked = next(column for name, column in found.columns.items() if name != "label")
        accuracy = paired_accuracy(answers[0], answers[1], labels)
        rows = [
            [Answered(str(one), *pair) for one, *pair in zip(asked, labels, each, strict=True)]
            for each in answers
        ]
        return Answers(where, rows[0], rows[1], accuracy_line(accuracy), {"accuracy": vars(accuracy)})
    assert face.run is not None
    references = [face.task.normalize(column) for column in references_of(found)]
    tokenize = face.run.recipe.evaluation.tokenize
    bleu = paired_bleu(answers[0], answers[1], references, tokenize=tokenize)
    columns = found.columns["source"], references[0]
    rows = [[Answered(*row) for row in zip(*columns, each, strict=True)] for each in answers]
    return Answers(where, rows[0], rows[1], bleu_line(bleu), {"bleu": vars(bleu)})
