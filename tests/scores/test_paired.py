"""Two translators on the same references: which is better, and by how much chance."""

import pytest

from tf_transformer.scores.paired import paired_bleu

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
