"""Exchanged sides, and tokenizers of other text."""

import random
from pathlib import Path

import pytest

from tf_transformer.build.text_signs import exchanged_sides, foreign_tokenizer
from tf_transformer.recipe.translate import TranslateText
from tf_transformer.text import train_tokenizer

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sides() -> tuple[list[str], list[str]]:
    rows = (ROOT / "training/quickstart/train.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    english, french = zip(*(row.split("\t")[:2] for row in rows), strict=True)
    return list(english), list(french)


def test_exchanged_sides_are_told_and_right_ones_are_not(sides: tuple[list[str], list[str]]) -> None:
    english, french = sides
    train, dev = slice(0, None, 2), slice(1, None, 2)
    assert exchanged_sides(english[train], french[train], english[dev], french[dev], "dev") is None
    sign = exchanged_sides(french[train], english[train], english[dev], french[dev], "dev")
    assert sign is not None and sign.name == "sides"
    assert sign.line.startswith("the sides of train and dev are exchanged: the sources of dev are like the t")


def test_sides_that_are_alike_cannot_be_told_apart() -> None:
    draw = random.Random(3)
    digits, more = (["".join(draw.choices("0123456789", k=9)) for _ in range(300)] for _ in range(2))
    backwards = [text[::-1] for text in digits]
    assert exchanged_sides(digits, backwards, [text[::-1] for text in more], more, "dev") is None
    assert exchanged_sides(digits, backwards, ["a"], ["b"], "dev") is None  # too short for three letters
    # One side that is like the other's is no exchange.
    assert exchanged_sides(["abcd"] * 9, ["wxyz"] * 9, ["wxyz"] * 9, ["wxyz"] * 9, "dev") is None


def test_a_tokenizer_of_other_text_is_told(sides: tuple[list[str], list[str]]) -> None:
    english, french = sides
    words = TranslateText(tokenizer="words")
    own = train_tokenizer("words", english, 400)
    assert foreign_tokenizer(own, words, english) is None
    sign = foreign_tokenizer(own, words, french)
    assert sign is not None and sign.line.startswith("the tokenizer does not know ")
    pieces = TranslateText()
    spelling = train_tokenizer("sentencepiece", english, 600, model_type="bpe")
    assert foreign_tokenizer(spelling, pieces, english) is None
    sign = foreign_tokenizer(spelling, pieces, french)
    assert sign is not None and "times as many pieces as one of its size" in sign.line
