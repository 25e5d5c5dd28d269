"""Figures of a classifier that answers what a table says."""

from collections.abc import Sequence

import numpy as np
import pytest

from tf_transformer.evaluation import EvaluationSet
from tf_transformer.evaluation.classification import ClassificationEvaluator

ANSWERS = {"a": [0.9, 0.1], "b": [0.25, 0.75], "c": [0.6, 0.4], "": [0.0, 0.0]}
FOUND = EvaluationSet("dev", {"text": ["a", "b", "c", ""], "label": ["no", "yes", "yes", "no"]})


class Table:
    """Stands for a classifier."""

    labels = ("no", "yes")

    def log_probabilities(self, examples: Sequence[str]) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.array([ANSWERS[text] for text in examples], np.float32))


def test_figures_by_hand() -> None:
    evaluated = ClassificationEvaluator(Table(), samples=2).quick(FOUND)
    assert evaluated.answers == ["no", "yes", "no", ""]
    assert evaluated.figures["accuracy"] == 0.5
    # what cannot be answered is wrong, and has no part in the loss
    assert evaluated.figures["loss"] == pytest.approx(-np.log([0.9, 0.75, 0.4]).mean(), rel=1e-5)
    # no: 1 right of 2 answers and 2 examples; yes: 1 of 1 and 2
    assert evaluated.figures["macro_f1"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert [(sample.source, sample.output) for sample in evaluated.samples] == [("a", "no"), ("b", "yes")]
    assert evaluated.brief.startswith("accuracy 50.00%, macro-F1 58.33%, ECE ")


def test_the_loss_is_that_of_training() -> None:
    evaluator = ClassificationEvaluator(Table(), label_smoothing=0.2, class_weights=[2.0, 1.0])
    found = EvaluationSet("dev", {"text": ["a", "b"], "label": ["no", "unheard"]})
    smoothed = -(0.9 * np.log(0.9) + 0.1 * np.log(0.1))
    assert evaluator.quick(found).figures["loss"] == pytest.approx(2 * smoothed, rel=1e-5)


def test_lines_for_a_person() -> None:
    progress: list[int] = []
    evaluated = ClassificationEvaluator(Table()).full(FOUND, progress.append)
    assert progress == [4]
    text = "\n".join(evaluated.lines)
    rows = [line.split() for line in text.split("\n")]
    assert ["no", "50.0%", "50.0%", "50.0%", "2", "2"] in rows
    assert ["1", "no", "1", "·", "1"] in rows  # one right, none answered yes, one not answered
    assert ["3", "no", "answer", "·", "·", "·"] in rows
    assert "  sure           answers  mean  right" in text


def test_a_label_is_left_out() -> None:
    evaluator = ClassificationEvaluator(Table(), leave_out=["yes"])
    assert evaluator.quick(FOUND).figures["macro_f1"] == 0.5
