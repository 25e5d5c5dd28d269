"""How one text became another, word by word."""

from collections.abc import Iterator
from difflib import SequenceMatcher


def word_changes(before: str, now: str) -> Iterator[tuple[str, str, bool]]:
    """What went and what came, in order.

    A text without spaces, of Chinese say, is compared character by character.

    Args:
        before: The text that was.
        now: The text that is.

    Yields:
        Some words that were there, the words in their place, and whether these are the same; either is empty
        where there are none.
    """
    space = " " if " " in f"{before}{now}".strip() else ""
    old, new = (text.split() if space else list(text) for text in (before, now))
    for kind, *ends in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield space.join(old[ends[0] : ends[1]]), space.join(new[ends[2] : ends[3]]), kind == "equal"
