"""One fault of a recipe in plain words: key, rule, received value, what to write in its place."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tf_transformer.errors import printable
from tf_transformer.recipe.yaml_tree import Path

_LONG_NUMBER = 1e16
NOTHING = object()
"""In place of a received value where there is none to show."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a recipe.

    Args:
        path: Where.
        rule: What should be.
        received: What was found there.
        hint: What to write in its place.
        others: Other keys that the rule speaks of; the fault may be theirs.
    """

    path: Path
    rule: str
    received: Any = NOTHING
    hint: str = ""
    others: tuple[Path, ...] = ()

    def text(self) -> str:
        """The fault without the place in the file."""
        parts = [self.rule]
        if self.received is not NOTHING:
            parts.append(f"received {shown(self.received)}")
        if self.hint:
            parts.append(self.hint)
        key = ".".join(map(str, self.path))
        return printable(f"{key}: {'; '.join(parts)}" if key else "; ".join(parts))


def shown(value: Any) -> str:
    """A value as short JSON, on one line."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LONG_NUMBER
    written = int(value) if is_whole else value
    text = json.dumps(written, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def number(value: Any) -> Any:
    """A limit as people write it: ``1000000000`` and ``0.000000001``, not ``1e+09`` and ``1e-09``."""
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else format(Decimal(repr(value)), "f")


def at(dotted: str) -> Path:
    """The path of a key that is written in dots."""
    return tuple(dotted.split("."))
