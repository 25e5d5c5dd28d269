"""What translations have in common that references have not."""

from typing import Any

import pytest

from tf_transformer.evaluation.answer_signs import answer_signs

SOURCES = [f"s{number} a b c" for number in range(10)]
REFERENCES = [f"t{number} d e f" for number in range(10)]
RIGHT = [[10 + number, 5, 6, 7] for number in range(10)]


def names(answers: list[str], pieces: list[list[int]] = RIGHT, **others: Any) -> list[str]:
    values = {
        "sources": SOURCES, "references": REFERENCES, "of_references": RIGHT, "limits": [9] * 10, **others
    }  # fmt: skip
    return [sign.name for sign in answer_signs(answers, pieces=pieces, **values)]


def test_right_answers_and_no_answers_have_no_sign() -> None:
    assert names(REFERENCES) == [] and names(SOURCES[:8] + REFERENCES[:2]) == []
    assert list(answer_signs([], [], [], [], [], [])) == []


@pytest.mark.parametrize(
    ("answers", "pieces", "name"),
    [
        ([*SOURCES[:9], "x"], RIGHT, "copies"),
        (REFERENCES, [[4, 4, 5, 4]] * 9 + [[4, 5, 6, 7]], "repeats"),
        (REFERENCES, [[4, 5, 6, 7, 8, 9, 10, 11, 12]] * 9 + [[4]], "no end"),
        (REFERENCES, [[4, 4, 4]] * 10, None),  # too short to tell
        (["same"] * 10, RIGHT, "one answer"),
    ],
)
def test_each_has_a_name(answers: list[str], pieces: list[list[int]], name: str | None) -> None:
    assert names(answers, pieces) == ([] if name is None else [name])


def test_what_references_do_as_well_is_right() -> None:
    assert names(SOURCES, references=SOURCES) == []  # a task of copying
    repeated = [[4, 4, 5, 4]] * 10
    assert names(REFERENCES, repeated, of_references=repeated) == []
    assert names(["same"] * 10, references=["same"] * 10) == []
