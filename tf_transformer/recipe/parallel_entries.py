"""The entries of a translation's ``data`` section: source sentences and their translations."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Discriminator, Field, Strict, Tag

from tf_transformer.recipe.data_section import Data, entries_of
from tf_transformer.recipe.entries import DevOf, Table, TestOf, TextEntry, TrainOf, Weighted, stem
from tf_transformer.recipe.fault import Fault
from tf_transformer.recipe.fields import Column, DataFile, Name, Section, key, one_or_list

DataFiles = Annotated[tuple[DataFile, ...], Strict(False), Field(min_length=1)]
Columns = Annotated[tuple[Column, ...], Strict(False), Field(min_length=1)]
FileOrFiles = Annotated[
    Annotated[DataFile, Tag("<one>")] | Annotated[DataFiles, Tag("<list>")], Discriminator(one_or_list)
]
ColumnOrColumns = Annotated[
    Annotated[Column, Tag("<one>")] | Annotated[Columns, Tag("<list>")], Discriminator(one_or_list)
]
Value = TypeVar("Value")


class Tagged(Section):
    """What tells sources apart that want answers of different kinds."""

    tag: Name | None = key(
        None,
        "What the model is told of the answers wanted, such as a language; of every entry, or null for none.",
        midway="logged",
    )


class Files(TextEntry, Tagged):
    """Parallel text files, one sentence a line."""

    source: FileOrFiles = key(
        ...,
        "File with the source sentences, or a list of files, all of them to be read line by line.",
        midway="logged",
        example="train.source.txt",
    )

    @property
    def title(self) -> str:
        """The entry's name, or its first source file's."""
        return self.name or stem(_several(self.source)[0])


class TrainColumns(Section):
    """Which columns of a table hold what."""

    source: ColumnOrColumns = key(
        "source",
        "Source column: its name, or 1-based number without a header; or a list, all of them to be read.",
        midway="logged",
    )
    target: Column = key(
        "target", "Target column: its name, or 1-based number without a header.", midway="logged"
    )


class EvaluationColumns(Section):
    """Which columns of an evaluation table hold what; several targets are several references."""

    source: ColumnOrColumns = key(
        "source",
        "Source column: its name, or 1-based number without a header; or a list, all of them to be read.",
        midway="logged",
    )
    target: ColumnOrColumns = key(
        "target", "Target column, or a list of them: several references.", midway="logged"
    )


class TrainFiles(Files, Weighted):
    """Two parallel files of training text."""

    target: DataFile = key(
        ..., "File with their translations, line by line.", midway="logged", example="train.target.txt"
    )

    @property
    def columns_read(self) -> dict[str, Path]:
        """The files by what they hold: ``source``, ``source_2`` and so on, ``target``."""
        return {**_numbered("source", self.source), "target": self.target}


class TrainTable(Table, Weighted, Tagged):
    """A table of training text."""

    columns: TrainColumns = key(TrainColumns(), "Which column is which.", midway="logged")

    @property
    def columns_read(self) -> dict[str, str | int]:
        """The table's columns by what they hold: ``source``, ``source_2`` and so on, ``target``."""
        return {**_numbered("source", self.columns.source), "target": self.columns.target}


class EvaluationFiles(Files):
    """Parallel files of an evaluation set."""

    target: FileOrFiles = key(
        ..., "File with their translations, or a list of files: several references.", midway="logged",
        example="train.target.txt",
    )  # fmt: skip

    @property
    def columns_read(self) -> dict[str, Path]:
        """The files by what they hold: ``source``, ``source_2`` and so on, ``target``, ``target_2`` …"""
        return {**_numbered("source", self.source), **_numbered("target", self.target)}


class EvaluationTable(Table, Tagged):
    """A table of an evaluation set."""

    columns: EvaluationColumns = key(EvaluationColumns(), "Which column is which.", midway="logged")

    @property
    def columns_read(self) -> dict[str, str | int]:
        """The table's columns by what they hold: ``source``, ``source_2`` …, ``target``, ``target_2`` …"""
        return {**_numbered("source", self.columns.source), **_numbered("target", self.columns.target)}


TrainData = TrainOf[TrainFiles, TrainTable]
DevData = DevOf[EvaluationFiles, EvaluationTable]
TestData = TestOf[EvaluationFiles, EvaluationTable]


def source_columns(entry: Any) -> int:
    """How many columns each source of an entry has."""
    return sum(name.startswith("source") for name in entry.columns_read)


def source_faults(data: Data) -> Iterator[Fault]:
    """One model reads all entries: their sources have equally many columns, and tags that training knows."""
    first = data.train_entries[0]
    columns, tags = source_columns(first), {entry.tag for entry in data.train_entries}
    for path, entry in entries_of(data):
        where = (*path, "columns", "source") if isinstance(entry, Table) else (*path, "source")
        if source_columns(entry) != columns:
            rule = f"must be as many as in the first entry of data.train, which has {columns}"
            yield Fault(where, rule, source_columns(entry), others=(("data", "train"),))
        if first.tag is None and entry.tag is not None:
            rule = "must be left out, or given to every entry: the first of data.train has none"
            yield Fault((*path, "tag"), rule, entry.tag, others=(("data", "train"),))
        elif first.tag is not None and entry.tag is None:
            yield Fault((*path, "tag"), "is required: the first entry of data.train has one")
        elif entry.tag not in tags:
            rule = f"must be one of data.train: {', '.join(sorted(filter(None, tags)))}"
            yield Fault((*path, "tag"), rule, entry.tag, others=(("data", "train"),))


def _several(values: Value | Sequence[Value]) -> tuple[Value, ...]:
    return values if isinstance(values, tuple) else (values,)


def _numbered(name: str, values: Value | Sequence[Value]) -> dict[str, Value]:
    return {name if n == 1 else f"{name}_{n}": value for n, value in enumerate(_several(values), start=1)}
