"""What differs between the recipe of a half-done run and the one given now, and what that means."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tf_transformer.recipe.base import Recipe
from tf_transformer.recipe.fault import number
from tf_transformer.recipe.fields import Midway, Section
from tf_transformer.recipe.keys import ordered_fields, schema_keys, schema_path

KeyPath = tuple[str | int, ...]
ABSENT = "(absent)"


@dataclass(frozen=True)
class FileContent:
    """What a file holds; equal where the content is, wherever it lies.

    Args:
        sha256: SHA-256 of it.
        path: Where it was read.
    """

    sha256: str
    path: str = field(compare=False)

    def __str__(self) -> str:
        return f"content {self.sha256[:12]} of {self.path}"


@dataclass(frozen=True)
class Change:
    """One key that differs.

    Args:
        key: The key in dots.
        old: Its value in the run, or ``"(absent)"``; a :class:`FileContent` where the file was read.
        new: Its value now.
    """

    key: str
    old: Any
    new: Any

    @property
    def is_content(self) -> bool:
        """Whether a file holds something else than it did."""
        return isinstance(self.old, FileContent) and isinstance(self.new, FileContent)

    def __str__(self) -> str:
        return f"{self.key}: {number(self.old)} in the run, {number(self.new)} now"


@dataclass(frozen=True)
class Changes:
    """The keys that differ, by what that means: taken; taken and logged as an event; refused."""

    free: list[Change] = field(default_factory=list)
    logged: list[Change] = field(default_factory=list)
    refused: list[Change] = field(default_factory=list)


def compare_recipes(old: Recipe, new: Recipe) -> Changes:
    """Compares two resolved recipes key by key.

    Files are compared by what they hold where both recipes carry records of them, else by their paths:
    data that was only moved is no change. A precision of ``auto`` is whatever the run has chosen.

    Args:
        old: The recipe of the run.
        new: The recipe given now.
    """
    if type(old) is not type(new):  # another task: nothing else is worth comparing
        return Changes(refused=[Change("task", old.task, new.task)])
    changes = Changes()
    one, other = _leaves(old, _records(old)), _leaves(new, _records(new))
    for path in dict.fromkeys([*one, *other]):
        before, after = one.get(path, ABSENT), other.get(path, ABSENT)
        if before == after or (path == ("training", "precision") and after == "auto"):
            continue
        change = Change(".".join(map(str, path)), before, after)
        getattr(changes, _midway(path, type(new))).append(change)
    return changes


def _midway(path: KeyPath, schema: type[Section]) -> Midway:
    if path[:2] == ("data", "test"):
        return "free"  # nothing of a training hangs on what is scored when it has ended
    name = schema_path(path, schema)
    marks = {key.midway for key in schema_keys(schema) if key.path == name}
    order: tuple[Midway, ...] = ("refused", "logged", "free")
    return next((mark for mark in order if mark in marks), "refused")


def _records(recipe: Recipe) -> dict[str, str]:
    return {record.path: record.sha256 for record in recipe.files}


def _leaves(recipe: Recipe, records: dict[str, str]) -> dict[KeyPath, Any]:
    """Every value by its path, entries of data in one form whichever the recipe has."""
    found: dict[KeyPath, Any] = {("task",): recipe.task}
    data = recipe.data
    for name, _ in ordered_fields(type(data)):
        if name not in ("train", "dev", "test"):
            _flatten(getattr(data, name), ("data", name), records, found)
    for index, entry in enumerate(data.train_entries):
        _flatten(entry, ("data", "train", index), records, found)
    if data.dev_fraction is not None:
        found["data", "dev", "fraction"] = data.dev_fraction
    for split, sets in (("dev", data.dev_sets), ("test", data.test_sets)):
        for name, section in sets.items():
            _flatten(section, ("data", split, name), records, found)
    for name, _ in ordered_fields(type(recipe)):
        if name not in ("task", "data", "files"):
            _flatten(getattr(recipe, name), (name,), records, found)
    return found


def _flatten(value: Any, path: KeyPath, records: dict[str, str], found: dict[KeyPath, Any]) -> None:
    if isinstance(value, Section):
        for name, _ in ordered_fields(type(value)):
            _flatten(getattr(value, name), (*path, name), records, found)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            _flatten(item, (*path, index), records, found)
    elif isinstance(value, Path):
        sha256 = records.get(str(value))
        found[path] = FileContent(sha256, str(value)) if sha256 else str(value)
    else:
        found[path] = value
