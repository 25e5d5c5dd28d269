"""ROUGE by hand, and the library itself; what is missing is told."""

import sys

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.scores.rouge import score_rouge


def test_scores_that_one_can_count() -> None:
    # Common words: the, sat, of 3 and of 4; pairs: none of 2 and 3; in order: the, sat.
    values = score_rouge(["the dog sat"], [["The cats, they sat"]], "plain").values
    assert values["rouge_1"] == pytest.approx(100 * 2 * 2 / (3 + 4))
    assert values["rouge_2"] == 0.0
    assert values["rouge_l"] == pytest.approx(100 * 2 * 2 / (3 + 4))


def test_stems_are_compared_where_asked_for() -> None:
    answers, references = ["running dogs"], [["runs dog"]]
    assert score_rouge(answers, references, "plain").values["rouge_1"] == 0.0
    assert score_rouge(answers, references, "stemmed").values["rouge_1"] == pytest.approx(100.0)


def test_of_several_references_the_best_counts_and_answers_are_averaged() -> None:
    found = score_rouge(["a b", "c"], [["x", "y"], ["a b", "z"]], "plain")
    assert found.values == pytest.approx({"rouge_1": 50.0, "rouge_2": 50.0, "rouge_l": 50.0})
    assert found.signatures["rouge_2"].startswith("rouge2|F1|tok:a-z0-9|stemmer:no|version:")


def test_other_scripts_have_characters() -> None:
    answers, references = ["你好 吗"], [["你好"]]
    assert score_rouge(answers, references, "plain").values["rouge_1"] == 0.0
    found = score_rouge(answers, references, "characters")
    assert found.values["rouge_1"] == pytest.approx(100 * 2 * 2 / (3 + 2))
    assert "tok:characters|stemmer:no" in found.signatures["rouge_1"]


def test_an_empty_answer_scores_nothing() -> None:
    assert set(score_rouge([""], [["a b"]]).values.values()) == {0.0}


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"`words` must be one of stemmed, plain, characters\. Received: 'x'"
    ):
        score_rouge(["a"], [["a"]], "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Each reference set must have one line for each hypothesis"):
        score_rouge(["a"], [["a", "b"]])


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score", None)
    with pytest.raises(RecipeError, match=r"^evaluation\.rouge: .*: pip install 'tf-transformer\[rouge\]'$"):
        score_rouge(["a"], [["a"]])
