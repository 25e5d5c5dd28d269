"""What counts as an empty text."""

import pytest

from tf_transformer.data.characters import CONTROL, HTML_ENTITY, ZERO_WIDTH, is_blank


@pytest.mark.parametrize(
    "text",
    ["", " \t\r", "\u3000\u00a0\u200b", "\ufeff\u2028", "\0\x1f\x85", "\u00ad\u200e", "\u3164\u2800\ufe0f"],
)
def test_nothing_visible_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", [" a", "\u200bä", ".", "上", "\u200b?", "👍", "\u0301", "\ufffd", "0"])
def test_anything_visible_is_not(text: str) -> None:
    assert not is_blank(text)


def test_kinds_of_characters() -> None:
    assert ZERO_WIDTH.search("a\u200db") and not ZERO_WIDTH.search("a b\u3000")
    assert CONTROL.search("a\tb") and CONTROL.search("a\u2029") and not CONTROL.search("a\u00a0b")
    assert all(HTML_ENTITY.search(text) for text in ("&amp;", "&#39;", "&#x20AC;"))
    assert not any(HTML_ENTITY.search(text) for text in ("AT&T is", "& ;", "a&b"))
