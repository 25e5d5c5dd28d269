"""Characters that cannot be seen: which of them make a text empty, and which are worth a note."""

import re
import unicodedata
from typing import Final

from tf_transformer.text.blank import INKLESS

ZERO_WIDTH: Final = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)
"""Soft hyphen, zero-width spaces and joiners, direction marks, word joiner, stray byte-order mark."""

CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters, tabs and every line break that is not the end of a line."""

HTML_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

_INKLESS: Final = re.compile(f"[{INKLESS}]")
_INKLESS_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def is_blank(text: str) -> bool:
    """Whether nothing is left of a text without white space, zero-width and control characters.

    Args:
        text: Any string.

    Returns:
        True for `""`, `"  "` and `"\\u3000\\u00a0\\u200b"`; `str.strip` alone would leave the last one.
    """
    if "A" <= text[:1] <= "z":  # most lines: decided by their first character
        return False
    return all(
        char.isspace() or unicodedata.category(char) in _INKLESS_CATEGORIES or _INKLESS.match(char)
        for char in text
    )
