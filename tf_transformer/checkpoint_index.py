"""Which checkpoints a run keeps, and how they are called."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

AVERAGE = "average"
INDEX = "index.json"
WEIGHTS = "weights.npz"
_MOST_DIGITS = 18


@dataclass
class Index:
    """Which checkpoints a run keeps; a step listed nowhere is removed when the next one is written.

    Args:
        last: The newest step, from which training continues.
        best: The step with the best validation measure so far.
        kept: Steps of the last validations, oldest first; what averaging reads.
        average_is_best: Whether the average scored better on dev than the best step did.
    """

    last: int | None = None
    best: int | None = None
    kept: list[int] = field(default_factory=list)
    average_is_best: bool = False

    def steps(self) -> set[int]:
        """Every step that must stay on disk."""
        return {step for step in (self.last, self.best, *self.kept) if step is not None}

    @property
    def last_name(self) -> str | None:
        """The newest checkpoint; None without any."""
        return None if self.last is None else step_name(self.last)

    def best_in(self, folder: Path) -> str | None:
        """Which checkpoint of a folder answers best: the newest where none was validated; or None."""
        if self.average_is_best and (folder / AVERAGE).is_dir():
            return AVERAGE
        return step_name(self.best) if self.best else self.last_name

    @classmethod
    def parse(cls, value: Any) -> "Index":
        """An index from the value of its file.

        Raises:
            ValueError: When it is none; says the rule.
        """
        names = [entry.name for entry in fields(cls)]
        if not isinstance(value, dict) or sorted(value) != sorted(names):
            raise ValueError(f"must be an object with the keys {', '.join(names)}")
        steps = (value["last"], value["best"])
        kept = value["kept"]
        if not isinstance(kept, list) or not all(map(is_step, (*kept, *(s for s in steps if s is not None)))):
            raise ValueError("last and best must be steps or null, and kept a list of steps")
        if not isinstance(value["average_is_best"], bool):
            raise ValueError("average_is_best must be true or false")
        return cls(**value)


def step_name(step: int) -> str:
    """Folder name of the checkpoint at ``step``."""
    return f"step-{step:08d}"


def name_fault(name: str) -> str | None:
    """Why no checkpoint can be called so, or None."""
    if name in ("best", "last", AVERAGE) or is_step_number(name):
        return None
    return f"checkpoint must be best, last, average or a step. Received: {name}"


def is_step_number(text: str) -> bool:
    """Whether a text is the number of a step."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def is_step(value: Any) -> bool:
    """Whether a value can be the number of a step."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
