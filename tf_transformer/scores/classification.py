"""Scores of finished classifications: accuracy, F1, the confusion matrix, and calibration."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_transformer.arguments import list_of_strings, whole_number

_DIRECTION = re.compile(r"\((e1,e2|e2,e1)\)$")
Matrix = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class ClassScore:
    """How one class, or one relation in both its directions, was answered.

    Args:
        precision: Share of its answers that are right; 0 where it was never the answer.
        recall: Share of its examples that were answered right; 0 where there are none.
        f1: Their harmonic mean; 0 where both are 0.
        examples: How many examples it has.
        answers: How often it was the answer.
    """

    precision: float
    recall: float
    f1: float
    examples: int
    answers: int


@dataclass(frozen=True)
class Bin:
    """Answers of about the same confidence.

    Args:
        low: Confidences are above this,
        high: and at most this.
        count: How many answers.
        confidence: Their mean confidence; 0 where there are none.
        accuracy: The share of them that is right; 0 where there are none.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class ClassificationScores:
    """What a set of answers scores.

    Args:
        values: Figures by name, shares from 0 to 1: ``accuracy``, ``macro_f1``, and ``ece`` where
            confidences were given.
        classes: The score of each class that was counted for ``macro_f1`` or left out of it.
        labels: Rows and columns of the matrix: the labels that are known, then others that examples have, and
            the empty one where an example was not answered.
        confusion: How often the label of the row was answered by that of the column, ``[labels, labels]``.
        bins: Calibration by confidence; empty where no confidences were given.
    """

    values: dict[str, float]
    classes: dict[str, ClassScore]
    labels: tuple[str, ...]
    confusion: Matrix
    bins: tuple[Bin, ...] = ()

    @property
    def titles(self) -> list[str]:
        """The labels as a person reads them."""
        return [label or "no answer" for label in self.labels]


def score_labels(
    answers: Sequence[str],
    references: Sequence[str],
    labels: Sequence[str],
    confidences: Sequence[float] | None = None,
    *,
    directed: bool = False,
    leave_out: Collection[str] = (),
    num_bins: int = 15,
) -> ClassificationScores:
    """Scores one answer an example.

    Macro-F1 is the mean of the F1 of the classes that are a reference or an answer. With ``directed``, labels
    ``R(e1,e2)`` and ``R(e2,e1)`` are one class R: an answer with the wrong direction is wrong, and counts
    among the answers and the examples of R. With ``leave_out=["Other"]`` that is the official measure of
    SemEval-2010 task 8 (Hendrickx et al., 2010, section 4.4).

    Args:
        answers: The label that was answered to each example; empty where none was, which is wrong.
        references: The right label of each; one that is not among ``labels`` counts as answered wrong.
        labels: The labels that can be answered.
        confidences: The probability of each answer, for the expected calibration error.
        directed: Whether labels end in a direction that is no class of its own.
        leave_out: Labels that macro-F1 is not the mean over.
        num_bins: Bins of equal width of the calibration error.

    Raises:
        TypeError: When answers, references or labels are no lists of strings.
        ValueError: When numbers differ, there is no example, an answer or a label to leave out is no label,
            or a confidence is no probability.
    """
    answers, references = list_of_strings("answers", answers), list_of_strings("references", references)
    labels = list_of_strings("labels", labels)
    num_bins = whole_number("num_bins", num_bins, 1)
    _check(answers, references, labels)
    rows = (*labels, *sorted({*references, *answers} - set(labels)))
    confusion = confusion_matrix(answers, references, rows)
    names = class_names(rows, directed)
    foreign = sorted(set(leave_out) - set(names))
    if foreign:
        raise ValueError(f"`leave_out` must be among the classes. Received: {foreign[0]!r}")
    classes = _class_scores(confusion, names)
    counted = [score.f1 for name, score in classes.items() if name not in set(leave_out)]
    values = {
        "accuracy": float(np.trace(confusion)) / len(answers),
        "macro_f1": float(np.mean(counted)) if counted else 0.0,
    }
    bins: tuple[Bin, ...] = ()
    if confidences is not None:
        right = np.array([a == r for a, r in zip(answers, references, strict=True)], bool)
        bins = calibration(confidences, right, num_bins)
        gaps = [each.count * abs(each.accuracy - each.confidence) for each in bins]
        values["ece"] = sum(gaps) / len(answers)
    return ClassificationScores(values, classes, rows, confusion, bins)


def class_names(labels: Sequence[str], directed: bool) -> list[str]:
    """The class of each label: without its direction where labels are `directed`, else the label itself."""
    return [_DIRECTION.sub("", label) if directed else label for label in labels]


def confusion_matrix(answers: Sequence[str], references: Sequence[str], labels: Sequence[str]) -> Matrix:
    """How often the reference of the row got the answer of the column: int64 ``[labels, labels]``."""
    place = {label: number for number, label in enumerate(labels)}
    matrix = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(matrix, ([place[label] for label in references], [place[label] for label in answers]), 1)
    return matrix


def _class_scores(confusion: Matrix, names: Sequence[str]) -> dict[str, ClassScore]:
    """The scores of the classes that are a reference or an answer; `names` are those of the rows."""
    scores = {}
    for name in (name for name in dict.fromkeys(names) if name):
        places = [place for place, other in enumerate(names) if other == name]
        right = int(confusion[places, places].sum())
        examples, answers = int(confusion[places].sum()), int(confusion[:, places].sum())
        if examples or answers:
            precision, recall = right / max(answers, 1), right / max(examples, 1)
            f1 = 2 * precision * recall / (precision + recall) if right else 0.0
            scores[name] = ClassScore(precision, recall, f1, examples, answers)
    return scores


def calibration(
    confidences: Sequence[float], right: np.ndarray[Any, np.dtype[np.bool_]], num_bins: int
) -> tuple[Bin, ...]:
    """Bins of equal width over the confidences of answers.

    "On Calibration of Modern Neural Networks" (Guo et al., 2017), section 2: the mean gap between confidence
    and accuracy, weighed by the answers in a bin, is the expected calibration error.

    Raises:
        ValueError: When there is not one confidence for each answer, or one is no probability.
    """
    values = np.asarray(confidences, np.float64)
    if values.shape != right.shape or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(
            f"`confidences` must be one probability for each of {len(right)} answers. "
            f"Received: {values.shape[0] if values.ndim else 1} of {values.min(initial=1)} to "
            f"{values.max(initial=0)}"
        )
    places = np.clip(np.ceil(values * num_bins).astype(int) - 1, 0, num_bins - 1)
    bins = []
    for place in range(num_bins):
        found = places == place
        count = int(found.sum())
        confidence = float(values[found].mean()) if count else 0.0
        accuracy = float(right[found].mean()) if count else 0.0
        bins.append(Bin(place / num_bins, (place + 1) / num_bins, count, confidence, accuracy))
    return tuple(bins)


def _check(answers: list[str], references: list[str], labels: list[str]) -> None:
    if not answers or len(answers) != len(references):
        raise ValueError(
            "`answers` and `references` must be equally many, and at least one. "
            f"Received: {len(answers)} and {len(references)}"
        )
    if len({*labels, ""}) <= len(labels):
        raise ValueError(f"`labels` must be distinct, and none of them empty. Received: {labels}")
    foreign = sorted(set(answers) - {*labels, ""})
    if foreign:
        raise ValueError(f"`answers` must be among the labels. Received: {foreign[0]!r}")
