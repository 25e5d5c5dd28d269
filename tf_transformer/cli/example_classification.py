"""Classification of files on the command line: a line in is the path of an example, a line out its label."""

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from tf_transformer.build import LoadedRun
from tf_transformer.cli.task_face import Options, TaskFace
from tf_transformer.cli.texts import one_line
from tf_transformer.data.label_numbers import OnUnseen, label_numbers
from tf_transformer.data.labelled import LabelledCorpus, place_of
from tf_transformer.errors import DataError, counted
from tf_transformer.evaluation import EvaluationSet, Evaluator
from tf_transformer.evaluation.classification import ClassificationEvaluator
from tf_transformer.export.loading import ExportedModel
from tf_transformer.tasks import Answer

_DETAILED = 3


class ExampleFace(TaskFace):
    """A classifier of pictures, or of sequences of vectors."""

    TO_NAME: ClassVar[str] = "--folder"

    def __init__(self, found: LoadedRun | ExportedModel) -> None:
        super().__init__(found)
        self.read = 0
        self.unanswered: list[str] = []
        self.task = found.task if isinstance(found, LoadedRun) else self.exported_task(found)

    @abstractmethod
    def exported_task(self, found: ExportedModel) -> Any:
        """What answers by an exported model."""

    @abstractmethod
    def example(self, path: Path) -> Any:
        """An example as the task takes it.

        Raises:
            DataError: When it cannot be read, or is none.
        """

    @abstractmethod
    def read_folder(self, folder: Path) -> LabelledCorpus:
        """The examples of a folder with a subfolder for each class, as evaluators take them."""

    def answers(self, texts: list[str], options: Options) -> Iterator[Iterable[str]]:
        examples = [self._example(text) for text in texts]
        found = iter(self.task.answers([example for example in examples if example is not None]))
        for text, example in zip(texts, examples, strict=True):
            # A line without an answer is a line all the same, so that lines out belong to lines in.
            answer = Answer("", 0.0, ()) if example is None else next(found)
            yield [self._shown(text, answer, options)]

    def _example(self, text: str) -> Any:
        self.read += 1
        try:
            if not text:
                raise DataError("is empty, and must be the path of a file")
            return self.example(Path(text))
        except DataError as error:
            self.unanswered.append(f"line {self.read}: {error}")
            return None

    def _shown(self, text: str, answer: Answer, options: Options) -> str:
        if options["json"]:
            probabilities = dict(zip(self.task.labels, answer.probabilities, strict=False))
            shown = {"file": text, "label": answer.label or None, "probability": answer.probability}
            return json.dumps({**shown, "probabilities": probabilities}, ensure_ascii=False)
        label = one_line(answer.label)
        return f"{answer.probability:.4f}\t{label}" if options["scores"] and label else label

    def remarks(self) -> Iterator[str]:
        """See `TaskFace`.

        Raises:
            DataError: When there are lines without an answer; all others were answered.
        """
        if self.unanswered:
            more = (
                f"; and {len(self.unanswered) - _DETAILED:,} more" if len(self.unanswered) > _DETAILED else ""
            )
            raise DataError(
                f"{counted(len(self.unanswered), 'line')} of {self.read:,} have no answer: "
                f"{'; '.join(self.unanswered[:_DETAILED])}{more}"
            )
        return iter(())

    def evaluator(self, options: Options) -> Evaluator:
        if self.exported is not None:
            left_out = self.exported.manifest.leave_out
            return ClassificationEvaluator(self.task, examples="example", leave_out=left_out, shown="place")
        assert self.run is not None
        evaluator: Evaluator = self.run.problem.evaluator(self.task)
        return evaluator

    def given_set(self, options: Options) -> tuple[EvaluationSet, Sequence[str]] | None:
        if options["folder"] is None:
            return None
        corpus = self.read_folder(options["folder"])
        unseen: OnUnseen = "error" if self.run is None else self.run.recipe.evaluation.unseen_labels
        label_numbers(corpus.labels, self.task.labels, partial(place_of, corpus), unseen)
        columns = {"example": list(corpus.inputs), "label": corpus.labels, "place": corpus.places}
        return EvaluationSet("", columns), corpus.report.to_lines()
