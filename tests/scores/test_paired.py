"""Two translators on the same references: which is better, and by how much chance."""

import pytest

from tf_transformer.scores.paired import paired_accuracy, paired_bleu

ANIMALS = ["cat", "dog", "cow", "pig", "hen", "fox", "owl", "elk", "ant", "bee"]
RIGHT = [f"the {animal} sits on a mat there" for animal in ANIMALS]


def test_equal_translations_differ_by_chance_alone() -> None:
    found = paired_bleu(RIGHT, RIGHT, [RIGHT])
    assert (found.old, found.new) == (pytest.approx(100.0), pytest.approx(100.0))
    assert found.p_value == pytest.approx(1.0)
    assert "bs:1000" in found.signature and "tok:13a" in found.signature


def test_a_better_one_is_no_chance() -> None:
    worse = [line.replace("sits on a mat", "is up the wall") for line in RIGHT]
    found = paired_bleu(worse, RIGHT, [RIGHT], tokenize="none")
    assert found.new == pytest.approx(100.0) and found.old < 50.0
    assert found.p_value < 0.05 and "tok:none" in found.signature


def test_references_are_as_many_as_translations() -> None:
    with pytest.raises(ValueError, match="one line for each hypothesis"):
        paired_bleu(RIGHT, RIGHT[:3], [RIGHT])


def test_labels_by_mcnemar() -> None:
    labels = ["a"] * 10
    old = ["a"] * 4 + ["b"] * 6
    new = ["b"] * 1 + ["a"] * 8 + ["b"] * 1
    found = paired_accuracy(old, new, labels)
    assert (found.old, found.new, found.old_alone, found.new_alone) == (40.0, 80.0, 1, 5)
    assert found.p_value == pytest.approx(2 * (1 + 6) / 2**6)
    assert paired_accuracy(labels, labels, labels).p_value == 1.0
    assert paired_accuracy(["b"] * 9, ["a"] * 9, ["a"] * 9).p_value == 2 / 2**9


def test_labels_must_be_as_many() -> None:
    with pytest.raises(ValueError, match=r"equally many, at least one. Received: \[1, 1, 2\]"):
        paired_accuracy(["a"], ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="at least one"):
        paired_accuracy([], [], [])
