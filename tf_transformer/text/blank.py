"""Characters without ink that are neither white space nor controls: a text of them is blank, not empty."""

from typing import Final

import tensorflow as tf

INKLESS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)
"""Letters, marks and symbols by their category, yet fillers, joiners, variation selectors: inside of [ ]."""


def is_visible(strings: tf.Tensor) -> tf.Tensor:
    """Whether anything of a text can be seen: string of any shape, to boolean of the same."""
    return ~tf.strings.regex_full_match(strings, rf"[\p{{Z}}\p{{Cc}}\p{{Cf}}{INKLESS}]*")
