"""The part of the ``data`` section that all tasks share: its splits, and the rules of their entries."""

from collections.abc import Iterator
from typing import Any, ClassVar

from tf_transformer.recipe.entries import Entry, Fraction, Table
from tf_transformer.recipe.fault import Fault
from tf_transformer.recipe.fields import Section, key, table_ending
from tf_transformer.recipe.yaml_tree import Path


class Data(Section):
    """The data; each task declares the entries that may stand in it.

    Attributes:
        LONGEST: The keys that say how long an example may be, where examples are sequences.
    """

    LONGEST: ClassVar[tuple[str, ...]] = ()

    train: Any = key(..., "Training data: one entry, or a list of entries.", midway="logged")
    dev: Any = key(
        ..., "Data that validation runs on: an entry, a list, named sets, or {fraction: 0.05} of train.",
        midway="logged",
    )  # fmt: skip
    test: Any = key(
        None, "Data that is scored once, when training ends: an entry, a list, or named sets.", midway="free"
    )

    @property
    def longest(self) -> int | None:
        """Positions of the longest example; None where examples are no sequences."""
        return max((getattr(self, name) for name in self.LONGEST), default=None)

    @property
    def train_entries(self) -> tuple[Any, ...]:
        """The entries of training data, also when there is one."""
        train = self.train
        return train if isinstance(train, tuple) else (train,)

    @property
    def dev_fraction(self) -> float | None:
        """The share of the training data that is set apart for dev, or None where dev has files."""
        return self.dev.fraction if isinstance(self.dev, Fraction) else None

    @property
    def dev_sets(self) -> dict[str, Any]:
        """The dev sets by name, in the recipe's order; empty where dev is a fraction of train."""
        return {} if isinstance(self.dev, Fraction) else _sets(self.dev, "dev")

    @property
    def test_sets(self) -> dict[str, Any]:
        """The test sets by name, in the recipe's order; empty where there is none."""
        return _sets(self.test, "test")


def _sets(data: Any, only: str) -> dict[str, Any]:
    if isinstance(data, dict):
        return dict(data)
    if isinstance(data, Entry):
        return {data.name or only: data}
    return {entry.title: entry for entry in data or ()}


def data_faults(data: Data) -> Iterator[Fault]:
    """Faults of names and of columns."""
    yield from _names(data)
    yield from _columns(data)


def _names(data: Data) -> Iterator[Fault]:
    """Reports and figures go by the names of entries, so each is there once."""
    for split in ("train", "dev", "test"):
        seen: set[str] = set()
        for path, entry in entries_of(data, split):
            named = isinstance(getattr(data, split), dict)
            if named and entry.name not in (None, path[-1]):
                yield Fault((*path, "name"), f"must be left out: the set is called {path[-1]}", entry.name)
            elif not named and entry.title in seen:
                rule = f"another entry of data.{split} is called so too: give this one another name"
                yield Fault((*path, "name"), rule, entry.title, others=(("data", split),))
            seen.add(entry.title)


def _columns(data: Data) -> Iterator[Fault]:
    """Numbers are for tables without a header, where nothing has a name."""
    for path, entry in entries_of(data):
        if not isinstance(entry, Table):
            continue
        columns = getattr(entry, "columns_read", {}).values()
        if not any(isinstance(column, int) for column in columns):
            continue
        where, others = (*path, "columns"), ((*path, "table"),)
        if table_ending(entry.table) in (".jsonl", ".ndjson"):
            yield Fault(where, "must be names: JSON lines have keys and no numbers", [*columns], "", others)
        elif any(isinstance(column, str) for column in columns):
            yield Fault(where, "must all be names, or all numbers of a table without a header", [*columns])


def entries_of(data: Data, *splits: str) -> Iterator[tuple[Path, Any]]:
    """The entries of some splits, by default of all, each with its path."""
    for split in splits or ("train", "dev", "test"):
        value = getattr(data, split)
        if isinstance(value, dict):
            yield from ((("data", split, name), entry) for name, entry in value.items())
        elif isinstance(value, tuple):
            yield from ((("data", split, index), entry) for index, entry in enumerate(value))
        elif value is not None and not isinstance(value, Fraction):
            yield ("data", split), value
