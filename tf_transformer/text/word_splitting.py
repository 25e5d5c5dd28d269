"""The rule by which text falls into words and punctuation, and how it is put together again.

A word is a run of letters, digits, combining marks and zero-width characters. Any other character that is
not white space is a token of its own, and so is each Chinese character and kana, whose scripts write no
spaces. With joiners, a token that had no space before it begins with U+FFED, so that nothing is lost:
``"don't (go)"`` is ``don`` ``￭'`` ``￭t`` ``(`` ``￭go`` ``￭)``. A U+FFED of the text is a token of its own,
alone or after a joiner, so the two are never confused.

Without joiners (vocabularies of other tools) the text comes back with one space between tokens, except
before closing punctuation, after opening brackets, and around Chinese characters and kana.
"""

import unicodedata
from collections.abc import Sequence
from typing import Final

import tensorflow as tf

JOINER: Final = "\uffed"

# Stands for "tokens part here" while the text is being split; normalised text has no control characters.
_BORDER = "\x1f"
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
_ALONE = rf"([^\pL\pN\pM\p{{Cf}}\s{_BORDER}]|[{_UNSPACED}])"
_CLOSING = frozenset(".,;:!?%)]}…。，、；：！？）】」』》")
_OPENING = r"([(\[{¿¡（【「『《]) "


def split_words(strings: tf.Tensor, joiners: bool) -> tf.RaggedTensor:
    """Splits text into words and punctuation.

    Args:
        strings: string `[B]`, normalised.
        joiners: Whether tokens that follow without a space begin with `JOINER`.

    Returns:
        Ragged string `[B, None]`.
    """
    strings = tf.strings.regex_replace(strings, _ALONE, rf"{_BORDER}\1{_BORDER}")
    if joiners:
        # A border beside a space or an end is none; those that are left had no space.
        strings = tf.strings.regex_replace(strings, rf"{_BORDER}*(\s|^|$){_BORDER}*", r"\1")
        strings = tf.strings.regex_replace(strings, f"{_BORDER}+", f" {JOINER}")
    else:
        strings = tf.strings.regex_replace(strings, f"{_BORDER}+", " ")
    return tf.strings.split(strings)


def stand_alone(characters: Sequence[str]) -> list[bool]:
    """Says of each character whether it is always a token of its own."""
    alone: list[bool] = (
        tf.strings.regex_full_match(tf.constant(characters, tf.string), _ALONE).numpy().tolist()
    )
    return alone


def surface(token: str, joiners: bool) -> str:
    """Returns what a token adds to the text before `tidy`: itself, after a space where one belongs."""
    return token if not joiners and (token in _CLOSING or _is_unspaced(token)) else f" {token}"


def _is_unspaced(token: str) -> bool:
    name = unicodedata.name(token, "") if len(token) == 1 else ""
    return name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY", "HIRAGANA", "KATAKANA"))


def tidy(strings: tf.Tensor, joiners: bool) -> tf.Tensor:
    """Makes text of joined surfaces.

    Args:
        strings: string `[B]`, the surfaces of each row joined.
        joiners: Whether a `JOINER` before more of a token takes the space before it away.

    Returns:
        string `[B]`.
    """
    if joiners:
        strings = tf.strings.regex_replace(strings, f" {JOINER}([^ ])", r"\1")
    else:
        strings = tf.strings.regex_replace(strings, _OPENING, r"\1")
    return tf.strings.strip(strings)
