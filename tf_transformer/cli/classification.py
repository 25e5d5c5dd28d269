"""Classification of text on the command line."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tf_transformer.build import LoadedRun
from tf_transformer.cli.task_face import Options, Reading, TaskFace
from tf_transformer.cli.texts import one_line
from tf_transformer.data.cleaning import clean
from tf_transformer.data.label_numbers import OnUnseen, label_numbers
from tf_transformer.data.sources import read_parallel
from tf_transformer.errors import counted
from tf_transformer.evaluation import EvaluationSet, Evaluator
from tf_transformer.evaluation.classification import ClassificationEvaluator
from tf_transformer.export.loading import ExportedModel
from tf_transformer.presets import PAD_ID
from tf_transformer.tasks import Answer
from tf_transformer.tasks.exported_classifier import ExportedClassifier
from tf_transformer.text.classification_preprocessor import plain_parts

_WIDTH = 14
_DETAILED = 10
"""Lines without a label that are told one by one."""


class TextClassificationFace(TaskFace):
    """A classifier of texts."""

    UNIT: ClassVar[str] = "example"

    def __init__(self, found: LoadedRun | ExportedModel) -> None:
        super().__init__(found)
        self.cut = self.read = self.unanswered = 0
        self.told: list[str] = []
        if isinstance(found, LoadedRun):
            self.task = found.task
        else:
            self.task = ExportedClassifier(found.rows, found.manifest.labels)

    def answers(self, texts: list[str], options: Options) -> Iterator[Iterable[str]]:
        found: list[Answer] = self.task.answers(texts)
        if self.run is not None:  # an export does not say what it cuts
            self.cut += self.task.count_cut(texts)
        for text, answer in zip(texts, found, strict=True):
            self.read += 1
            if not answer.label:
                self.unanswered += 1
                if len(self.told) < _DETAILED:
                    self.told.append(f"line {self.read}: {self._why(text)}")
            yield [_shown(text, answer, self.task.labels, options)]

    def _why(self, text: str) -> str:
        """Why a text has no label."""
        special = () if self.run is None else self.task.side.special_tokens
        if self.exported is not None:
            special = self.exported.manifest.special_tokens
        if not text.strip():
            return "is empty: it has no label"
        if special:
            return f"has no label: it must hold a word, and each of {' '.join(special)} once"
        return "has no word: it has no label"

    def remarks(self) -> Iterator[str]:
        yield from self.told
        if self.unanswered > len(self.told):
            yield f"and {counted(self.unanswered - len(self.told), 'further line')} without a label"
        if self.cut:
            yield f"the end of {counted(self.cut, 'line')} was not read: the model does not read that far"

    def evaluator(self, options: Options) -> Evaluator:
        if self.exported is not None:
            facts = self.exported.manifest
            return ClassificationEvaluator(self.task, directed=facts.directed, leave_out=facts.leave_out)
        assert self.run is not None
        evaluator: Evaluator = self.run.problem.evaluator(self.task)
        return evaluator

    def given_set(self, options: Options) -> tuple[EvaluationSet, Sequence[str]] | None:
        source, target = options["source"], options["target"]
        if source is None or target is None:
            return None
        # An export normalises by itself, and its texts must not be normalised twice.
        normalize = list if self.run is None else self.task.normalize
        corpus = clean(read_parallel({"text": source, "label": target}), normalize, labels=("label",))
        unseen: OnUnseen = "error" if self.run is None else self.run.recipe.evaluation.unseen_labels
        names = corpus.columns["label"]
        label_numbers(names, self.task.labels, lambda row: f"{target}, line {corpus.lines[row]}", unseen)
        return EvaluationSet("", corpus.columns), corpus.report.to_lines()

    @staticmethod
    def readings(side: Any) -> Mapping[str, Reading]:
        return {"text": Reading(side.encode_text, side.tokenizer, partial(plain_parts, side.normalizer))}

    @staticmethod
    def tokens(side: Any) -> Mapping[str, Sequence[str]]:
        return {"source_ids": side.tokens}

    @staticmethod
    def row_lines(side: Any, where: str, inputs: Any, labels: Any, row: int) -> Iterator[str]:
        numbers = np.asarray(inputs["source_ids"][row])
        real = numbers[numbers != PAD_ID]
        yield where
        yield f"  {'label':<{_WIDTH}}{side.labels.names[int(labels[row])]} ({int(labels[row])})"
        yield f"  {'pieces':<{_WIDTH}}{' '.join(side.tokens[number] for number in real)}"
        yield f"  {'source_ids':<{_WIDTH}}{' '.join(map(str, numbers))}"
        yield f"  {'mask':<{_WIDTH}}{''.join('1' if number != PAD_ID else '.' for number in numbers)}"


def _shown(text: str, answer: Answer, labels: Sequence[str], options: Options) -> str:
    if options["json"]:
        probabilities = dict(zip(labels, answer.probabilities, strict=True))
        shown = {"text": text, "label": answer.label or None, "probability": answer.probability}
        return json.dumps({**shown, "probabilities": probabilities}, ensure_ascii=False)
    label = one_line(answer.label)
    return f"{answer.probability:.4f}\t{label}" if options["scores"] else label
