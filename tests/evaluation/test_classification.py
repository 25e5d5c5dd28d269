"""Figures of a classifier that answers what a table says."""

from collections.abc import Sequence

import keras
import numpy as np
import pytest
import tensorflow as tf

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
    evaluated = ClassificationEvaluator(Table(), samples=3).quick(FOUND)
    assert evaluated.answers == ["no", "yes", "no", ""]
    assert evaluated.figures["accuracy"] == 0.5
    # what cannot be answered is wrong, and has no part in the loss
    assert evaluated.figures["loss"] == pytest.approx(-np.log([0.9, 0.75, 0.4]).mean(), rel=1e-5)
    # no: 1 right of 2 answers and 2 examples; yes: 1 of 1 and 2
    assert evaluated.figures["macro_f1"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    # what is answered wrong comes first
    samples = [(one.source, one.reference, one.output, one.score) for one in evaluated.samples]
    assert samples == [
        ("c", "yes", "no", pytest.approx(60)),
        ("", "no", "", 0),
        ("a", "no", "no", pytest.approx(90)),
    ]
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


class Even(keras.Model):
    """The same logits for every example: those of one in four."""

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        return tf.math.log(tf.constant([[0.25, 0.75]])) * tf.ones_like(inputs)


def test_figures_of_training_are_those_of_batches() -> None:
    batches = [(tf.ones([3, 1]), tf.constant([1, 1, 0])), (tf.ones([2, 1]), tf.constant([1, -1]))]
    evaluator = ClassificationEvaluator(Table(), label_smoothing=0.3, model=Even())
    # Three of four that count are class 1; -1 is a label of none.
    assert evaluator.of_training(batches) == {"accuracy": 0.75}
    assert ClassificationEvaluator(Table()).of_training(batches) == {}


def test_pictures_are_drawn_of_what_was_found() -> None:
    pictures = ClassificationEvaluator(Table()).quick(FOUND).pictures
    assert list(pictures) == ["views/confusion", "views/calibration"]
    texts = [text.get_text() for text in pictures["views/confusion"]().axes[0].get_yticklabels()]
    assert texts == ["no", "yes", "no answer"]
    assert pictures["views/calibration"]().axes
