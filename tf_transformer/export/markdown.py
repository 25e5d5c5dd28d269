"""Markdown whose words come from elsewhere: they are shown, and are never marks, links or HTML."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from tf_transformer.errors import printable

# An underscore within a word marks nothing.
_MARKS = re.compile(r"[\\`*\[\]<>#|&~!$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BEGINS_A_BLOCK = re.compile(r"^(?:[-+=:]|\d+[.)])")


def escaped(text: str) -> str:
    """A text on one line, as it is, wherever words may stand."""
    line = printable(" ".join(text.split()))
    shown = _MARKS.sub(r"\\\g<0>", line)
    begun = _BEGINS_A_BLOCK.match(shown)
    # The last character of what would begin a list is one that a backslash makes plain.
    return shown if begun is None else f"{shown[: begun.end() - 1]}\\{shown[begun.end() - 1 :]}"


def paragraphs(text: str) -> str:
    """A text with paragraphs, which blank lines part."""
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(escaped(part) for part in parts)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are escaped already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def front_matter(values: Mapping[str, Any]) -> str:
    """What programs read at the head of a page: YAML between two lines."""
    shown = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, width=10**6)
    return f"---\n{shown}---\n"
