"""Scores are sacreBLEU's own, of the text as it is."""

from typing import Any

import pytest
import sacrebleu

from tf_transformer.scores import exact_match, score_translations

HYPOTHESES = ["The cat sat on the mat .", "A dog", "two birds sing in a tree"]
REFERENCES = [["The cat is on the mat.", "A dog", "Two birds sing in the tree"]]


def test_bleu_is_what_sacrebleu_says() -> None:
    scores = score_translations(HYPOTHESES, REFERENCES, complete=False)
    assert scores.values["bleu"] == sacrebleu.corpus_bleu(HYPOTHESES, REFERENCES).score
    assert scores.values["chrf"] == sacrebleu.corpus_chrf(HYPOTHESES, REFERENCES).score
    assert "tok:13a" in scores.signatures["bleu"]


def test_complete_scores_add_ter_matches_and_an_interval() -> None:
    values = score_translations(HYPOTHESES, REFERENCES).values
    assert values["exact_match"] == pytest.approx(100 / 3)
    assert values["ter"] == sacrebleu.corpus_ter(HYPOTHESES, REFERENCES).score
    assert values["bleu_low"] < values["bleu"] < values["bleu_high"]


def test_tokenized_text_is_scored_without_a_warning() -> None:
    scores = score_translations(HYPOTHESES, REFERENCES, tokenize="none", complete=False)
    assert "tok:none" in scores.signatures["bleu"]
    assert scores.values["reference_length"] == 6 + 2 + 6


def test_chinese_is_counted_in_characters() -> None:
    scores = score_translations(["我们为什么工作？"], [["我们为什么要工作？"]], tokenize="zh", complete=False)
    assert scores.values["reference_length"] == 9


def test_one_of_several_references_is_enough_for_a_match() -> None:
    assert exact_match(["b", "x"], [["a", "y"], ["b", "z"]]) == 50.0


def test_counts_must_agree() -> None:
    with pytest.raises(ValueError, match=r"one line for each hypothesis.*2 hypotheses.*\[1\] lines"):
        score_translations(["a", "b"], [["a"]])
    with pytest.raises(ValueError, match="0 hypotheses"):
        exact_match([], [[]])


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ("ab", ["cd"], r"`hypotheses` must be a list of strings\. Received: one string, 'ab'"),
        (["a", "b"], ["cd", "ef"], r"`references` must be a list of strings\. Received: one string, 'cd'"),
        (["a"], "b", r"`references` must be a list of lists of strings\. Received: one string"),
        (["a"], [[None]], r"`references` must be a list of strings\. Received: NoneType at place 0"),
    ],
)
def test_letters_are_not_taken_for_lines(hypotheses: Any, references: Any, message: str) -> None:
    for measure in (score_translations, exact_match):
        with pytest.raises(TypeError, match=message):
            measure(hypotheses, references)


def test_options_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"`tokenize` must be one of 13a, zh, .*Received: 'x'"):
        score_translations(["a"], [["a"]], tokenize="x")
    with pytest.raises(ValueError, match=r"`bootstrap` must be at least 1\. Received: -5"):
        score_translations(["a"], [["a"]], bootstrap=-5)
