"""How good a classifier is: accuracy, F1, the confusion matrix, and whether it is as sure as it is right."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from tf_transformer.evaluation.attention import AttentionPictures
from tf_transformer.evaluation.evaluator import (
    Advance,
    Evaluated,
    EvaluationSet,
    Evaluator,
    Pictures,
    Sample,
)
from tf_transformer.evaluation.teacher_forced import TeacherForced
from tf_transformer.losses import smoothed_cross_entropy
from tf_transformer.presets import UNSEEN_LABEL
from tf_transformer.scores import ClassificationScores, score_labels

EXAMPLES_AT_ONCE = 1024
"""Examples that are answered between two reports of progress."""
_MOST_COLUMNS = 25
"""Labels beyond which a confusion matrix is too wide for a terminal."""


class Classifies(Protocol):
    """What is evaluated: a classifier, or an exported one."""

    @property
    def labels(self) -> Sequence[str]:
        """The labels, in the order of the probabilities."""

    def log_probabilities(self, examples: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The logs of the probabilities of all labels, ``[N, C]``, of examples as sets hold them."""


class ClassificationEvaluator(Evaluator):
    """Scores labels.

    Args:
        task: What gives labels.
        examples: The column of a set that the task is given; the right labels are the column ``label``.
        label_smoothing: That of training, so that ``loss`` is comparable to the training loss.
        class_weights: Those of training, likewise; None for none.
        directed: See `score_labels`.
        leave_out: Classes that macro-F1 leaves out; see `score_labels`.
        samples: Examples whose answers ``quick`` shows: the first that are answered wrong, then others.
        shown: The column that a person is shown of an example; by default the example itself.
        show: What is shown as a person reads it; by default as it is.
        model: Of the task, for figures of training; None for none.
        attention: Draws what the model looks at in the first examples; None for no such pictures.
    """

    def __init__(
        self,
        task: Classifies,
        *,
        examples: str = "text",
        label_smoothing: float = 0.0,
        class_weights: Sequence[float] | None = None,
        directed: bool = False,
        leave_out: Sequence[str] = (),
        samples: int = 0,
        shown: str | None = None,
        show: Callable[[Any], str] = str,
        model: Any = None,
        attention: AttentionPictures | None = None,
    ) -> None:
        self.attention = attention
        self._teacher_forced = TeacherForced(model, 0.0, UNSEEN_LABEL, compiled=False) if model else None
        self.task = task
        self.examples = examples
        self.label_smoothing = label_smoothing
        self.class_weights = class_weights
        self.directed = directed
        self.leave_out = leave_out
        self.samples = samples
        self.shown = shown or examples
        self.show = show

    def quick(self, found: EvaluationSet) -> Evaluated:
        """See `Evaluator`."""
        return self._evaluated(found, None)

    def full(self, found: EvaluationSet, advance: Advance | None = None) -> Evaluated:
        """See `Evaluator`."""
        return self._evaluated(found, advance)

    def scores(self, found: EvaluationSet, advance: Advance | None = None) -> ClassificationScores:
        """All scores of a set, its confusion matrix among them."""
        return self._scored(found, self._log_probabilities(found, advance))[1]

    def _evaluated(self, found: EvaluationSet, advance: Advance | None) -> Evaluated:
        logs = self._log_probabilities(found, advance)
        answers, scores = self._scored(found, logs)
        figures = {"loss": self._loss(logs, found.columns["label"]), **scores.values}
        return Evaluated(
            figures,
            brief=_brief(figures),
            lines=list(_lines(figures, scores)),
            answers=answers,
            samples=self._samples(found, answers, logs),
            pictures=self._pictures(found, scores),
        )

    def _samples(
        self, found: EvaluationSet, answers: Sequence[str], logs: np.ndarray[Any, Any]
    ) -> list[Sample]:
        """Some examples, those answered wrong before the others; the score is how sure the answer is."""
        labels = found.columns["label"]
        order = sorted(range(len(answers)), key=lambda row: (answers[row] == labels[row], row))[
            : self.samples
        ]
        sure = 100 * np.exp(logs.max(axis=1).astype(np.float64))
        return [
            Sample(self.show(found.columns[self.shown][row]), labels[row], answers[row], float(sure[row]))
            for row in order
        ]

    def _pictures(self, found: EvaluationSet, scores: ClassificationScores) -> Pictures:
        examples = found.columns[self.examples]
        of_attention = self.attention([(one,) for one in examples[:2]]) if self.attention is not None else {}
        return {
            "views/confusion": lambda: _confusion_figure(scores),
            "views/calibration": lambda: _calibration_figure(scores),
            **of_attention,
        }

    def of_training(self, batches: Sequence[Any]) -> dict[str, float]:
        """See `Evaluator`."""
        found = self._teacher_forced(batches) if self._teacher_forced is not None else {}
        return {name: value for name, value in found.items() if name == "accuracy"}

    def _log_probabilities(
        self, found: EvaluationSet, advance: Advance | None
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        examples, parts = found.columns[self.examples], []
        for start in range(0, len(examples), EXAMPLES_AT_ONCE):
            part = examples[start : start + EXAMPLES_AT_ONCE]
            parts.append(self.task.log_probabilities(part))
            if advance is not None:
                advance(len(part))
        return np.concatenate(parts)

    def _scored(
        self, found: EvaluationSet, logs: np.ndarray[Any, Any]
    ) -> tuple[list[str], ClassificationScores]:
        labels, best = list(self.task.labels), logs.argmax(axis=1)
        sure = np.exp(logs[np.arange(len(logs)), best].astype(np.float64))
        answers = [labels[place] if sure[row] > 0 else "" for row, place in enumerate(best)]
        scores = score_labels(
            answers,
            list(found.columns["label"]),
            labels,
            np.minimum(sure, 1.0).tolist(),
            directed=self.directed,
            leave_out=self.leave_out,
        )
        return answers, scores

    def _loss(self, logs: np.ndarray[Any, Any], labels: Sequence[str]) -> float:
        """The mean over the examples that have a label which can be answered, and that can be answered."""
        places = {label: place for place, label in enumerate(self.task.labels)}
        numbers = np.array([places.get(label, UNSEEN_LABEL) for label in labels], np.int32)
        numbers = np.where(np.isfinite(logs).all(axis=1), numbers, UNSEEN_LABEL).astype(np.int32)
        finite = np.where(np.isfinite(logs), logs, 0.0)
        values = np.asarray(smoothed_cross_entropy(numbers, finite, self.label_smoothing, UNSEEN_LABEL))
        if self.class_weights is not None:
            values = values * np.asarray(self.class_weights, np.float32)[np.maximum(numbers, 0)]
        counted = int((numbers != UNSEEN_LABEL).sum())
        return float(values.sum()) / counted if counted else float("inf")


def _confusion_figure(scores: ClassificationScores) -> Any:
    from tf_transformer.plots.confusion import confusion_figure

    return confusion_figure(scores.confusion, scores.titles)


def _calibration_figure(scores: ClassificationScores) -> Any:
    from tf_transformer.plots.calibration import calibration_figure

    return calibration_figure(
        [one.confidence for one in scores.bins],
        [one.accuracy for one in scores.bins],
        [one.count for one in scores.bins],
    )


def _brief(figures: dict[str, float]) -> str:
    return (
        f"accuracy {figures['accuracy']:.2%}, macro-F1 {figures['macro_f1']:.2%}, "
        f"ECE {figures['ece']:.3f}, loss {figures['loss']:.3f}"
    )


def _lines(figures: dict[str, float], scores: ClassificationScores) -> Iterator[str]:
    """The figures for a person: of all, of each class, the confusion matrix, and how sure the answers are."""
    for name, title in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
        yield f"  {title:<12}{figures[name]:.2%}"
    yield f"  {'ECE':<12}{figures['ece']:.4f}"
    yield f"  {'loss':<12}{figures['loss']:.4f}"
    yield ""
    yield from class_table(scores)
    if len(scores.labels) <= _MOST_COLUMNS:
        yield ""
        yield from confusion_table(scores)
    yield ""
    yield from calibration_table(scores)


def class_table(scores: ClassificationScores) -> Iterator[str]:
    """Precision, recall and F1 of each class."""
    width = max(len(name) for name in (*scores.classes, "class"))
    yield f"  {'class':<{width}}  precision  recall      F1  examples  answers"
    for name, score in scores.classes.items():
        yield (
            f"  {name:<{width}}  {score.precision:>9.1%}  {score.recall:>6.1%}  {score.f1:>6.1%}"
            f"  {score.examples:>8,}  {score.answers:>7,}"
        )


def confusion_table(scores: ClassificationScores) -> Iterator[str]:
    """The confusion matrix: a row a label, a column an answer, which are numbered alike."""
    labels = scores.titles
    width = max(map(len, labels))
    cell = max(len(f"{scores.confusion.max():,}"), len(str(len(scores.labels)))) + 2
    numbers = "".join(f"{number:>{cell}}" for number in range(1, len(scores.labels) + 1))
    yield f"  {'label, answered as number':<{width + 4}}"
    yield f"  {'':<{width + 4}}{numbers}"
    for number, (label, row) in enumerate(zip(labels, scores.confusion, strict=True), start=1):
        counts = "".join(f"{count:>{cell},}" if count else f"{'·':>{cell}}" for count in row.tolist())
        yield f"  {number:>2}  {label:<{width}}{counts}"


def calibration_table(scores: ClassificationScores) -> Iterator[str]:
    """How sure answers are, and how many of them are right."""
    yield "  sure           answers  mean  right"
    for each in scores.bins:
        if each.count:
            yield (
                f"  {each.low:>4.0%} to {each.high:>4.0%}  {each.count:>7,}  {each.confidence:>4.0%}"
                f"  {each.accuracy:>5.0%}"
            )
