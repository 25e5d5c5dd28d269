"""What tokenizers do not know, counted in their own units."""

from typing import Any

import pytest

from tf_transformer.text.tokenizers import train_tokenizer
from tf_transformer.text.unknown_pieces import unknown_pieces

TEXTS = ["the cat sees the dog", "the dog sees a cat"]


@pytest.mark.parametrize(
    ("kind", "options", "unit", "found"),
    [
        ("words", {"vocabulary_size": 10}, "word", (("Ö", 2), (",", 1), ("bird", 1))),
        ("wordpiece", {"vocabulary_size": 60}, "word", (("Ö", 2), ("bird,", 1))),
        ("characters", {}, "character", (("Ö", 2), (",", 1), ("b", 1), ("i", 1), ("r", 1))),
        (
            "sentencepiece",
            {"vocabulary_size": 30, "byte_fallback": False},
            "character",
            (("Ö", 2), (",", 1), ("b", 1), ("i", 1), ("r", 1)),
        ),
        ("bytes", {}, "character", ()),
    ],
)
def test_the_most_frequent_come_first(kind: Any, options: dict[str, Any], unit: str, found: Any) -> None:
    tokenizer = train_tokenizer(kind, TEXTS, **options)
    text = "the bird, Ö Ö cat"
    unknown = unknown_pieces(tokenizer, [text])
    assert (unknown.unit, unknown.found) == (unit, found)
    assert unknown.total == {"words": 6, "wordpiece": 5}.get(kind, len(text))
    assert unknown.count == sum(count for _, count in found)
    assert unknown_pieces(tokenizer, []).total == 0
