"""Scores of classifications by hand."""

import numpy as np
import pytest

from tf_transformer.scores import score_labels

LABELS = ["a", "b", "c"]


def test_by_hand() -> None:
    references = ["a", "a", "a", "b", "b", "c"]
    answers = ["a", "a", "b", "b", "a", "a"]
    scores = score_labels(answers, references, LABELS)
    # a: 2 right of 4 answers and 3 examples: 2 * 2 / (4 + 3); b: 1 of 2 and 2: 1/2; c: never answered
    assert scores.values["accuracy"] == 0.5
    assert scores.values["macro_f1"] == pytest.approx((4 / 7 + 1 / 2 + 0) / 3)
    assert scores.confusion.tolist() == [[2, 1, 0], [1, 1, 0], [1, 0, 0]]
    of_a = scores.classes["a"]
    assert (of_a.precision, of_a.recall, of_a.examples, of_a.answers) == (0.5, pytest.approx(2 / 3), 3, 4)
    assert scores.classes["c"].precision == 0.0
    assert "ece" not in scores.values


def test_a_class_that_is_nowhere_is_not_in_the_mean() -> None:
    scores = score_labels(["a", "b"], ["a", "b"], LABELS)
    assert scores.values["macro_f1"] == 1.0
    assert set(scores.classes) == {"a", "b"}


def test_a_label_that_was_never_seen_is_answered_wrong() -> None:
    scores = score_labels(["a", "b"], ["a", "zebra"], LABELS)
    assert scores.values["accuracy"] == 0.5
    assert scores.labels == ("a", "b", "c", "zebra")
    assert scores.confusion[3].tolist() == [0, 1, 0, 0]
    assert scores.classes["zebra"].examples == 1
    # a: 1; b: 0, answered once; zebra: 0
    assert scores.values["macro_f1"] == pytest.approx(1 / 3)


def test_no_answer_is_wrong_and_no_class() -> None:
    scores = score_labels(["a", ""], ["a", "b"], LABELS)
    assert scores.labels == ("a", "b", "c", "")
    assert scores.confusion[1].tolist() == [0, 0, 0, 1]
    assert set(scores.classes) == {"a", "b"}
    assert scores.values["macro_f1"] == 0.5


def test_the_official_measure_of_directed_relations() -> None:
    labels = ["P(e1,e2)", "P(e2,e1)", "Q(e1,e2)", "Q(e2,e1)", "Other"]
    references = ["P(e1,e2)", "P(e1,e2)", "P(e2,e1)", "Q(e1,e2)", "Q(e1,e2)", "Other", "Other"]
    answers = ["P(e1,e2)", "P(e2,e1)", "P(e2,e1)", "Q(e1,e2)", "Other", "P(e1,e2)", "Other"]
    scores = score_labels(answers, references, labels, directed=True, leave_out=["Other"])
    # P: 2 right of 4 answers (one in the wrong direction) and 3 examples: 4/7; Q: 1 of 1 and of 2: 2/3
    assert scores.classes["P"].answers == 4 and scores.classes["P"].examples == 3
    assert scores.values["macro_f1"] == pytest.approx((4 / 7 + 2 / 3) / 2)
    assert scores.values["accuracy"] == pytest.approx(4 / 7)
    assert scores.classes["Other"].recall == 0.5


def test_calibration_by_hand() -> None:
    answers, references = ["a", "a", "a", "b"], ["a", "b", "a", "b"]
    scores = score_labels(answers, references, LABELS, [0.9, 0.7, 1.0, 0.4], num_bins=2)
    # up to 0.5: one answer, right, 0.4 sure; above: three, two right, mean 26/30 sure
    assert [(each.count, each.accuracy) for each in scores.bins] == [(1, 1.0), (3, pytest.approx(2 / 3))]
    assert scores.values["ece"] == pytest.approx((0.6 + 3 * (2.6 / 3 - 2 / 3)) / 4)


def test_the_border_of_bins_and_certainty() -> None:
    scores = score_labels(["a", "a", "a"], ["a", "a", "b"], LABELS, [0.0, 0.5, 1.0], num_bins=2)
    assert [each.count for each in scores.bins] == [2, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["a", "b"], LABELS), "`answers` and `references` must be equally many.*Received: 1 and 2"),
        (([], [], LABELS), "Received: 0 and 0"),
        ((["d"], ["a"], LABELS), "`answers` must be among the labels. Received: 'd'"),
        ((["a"], ["a"], ["a", "a"]), "`labels` must be distinct"),
        ((["a"], ["a"], ["a", ""]), "`labels` must be distinct, and none of them empty"),
        ((["a"], ["a"], LABELS, [1.5]), "`confidences` must be one probability for each of 1 answers"),
        ((["a"], ["a"], LABELS, [0.5, 0.5]), "Received: 2 of 0.5 to 0.5"),
        ((["a"], ["a"], LABELS, [np.nan]), "Received: 1 of"),
    ],
)
def test_what_cannot_be_scored(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_labels(*arguments)


def test_what_is_left_out_must_be_a_class() -> None:
    with pytest.raises(ValueError, match=r"`leave_out` must be among the classes. Received: 'Othr'"):
        score_labels(["a"], ["a"], LABELS, leave_out=["Othr"])


def test_what_was_not_answered_has_a_title() -> None:
    scores = score_labels(["a", ""], ["a", "b"], ["a", "b"])
    assert scores.labels == ("a", "b", "") and scores.titles == ["a", "b", "no answer"]
