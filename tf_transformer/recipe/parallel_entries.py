"""The entries of a translation's ``data`` section: source sentences and their translations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Discriminator, Field, Strict, Tag

from tf_transformer.recipe.entries import (
    Fraction,
    Table,
    TextEntry,
    Weighted,
    entry_form,
    form,
    stem,
    test_form,
    train_form,
)
from tf_transformer.recipe.fields import Column, DataFile, Name, Section, key, one_or_list

References = Annotated[tuple[DataFile, ...], Strict(False), Field(min_length=1)]
ReferenceColumns = Annotated[tuple[Column, ...], Strict(False), Field(min_length=1)]
Value = TypeVar("Value")


class Files(TextEntry):
    """Parallel text files, one sentence a line."""

    source: DataFile = key(
        ..., "File with the source sentences.", midway="logged", example="train.source.txt"
    )

    @property
    def title(self) -> str:
        """The entry's name, or its source file's."""
        return self.name or stem(self.source)


class TrainColumns(Section):
    """Which columns of a table hold what."""

    source: Column = key(
        "source", "Source column: its name, or 1-based number without a header.", midway="logged"
    )
    target: Column = key(
        "target", "Target column: its name, or 1-based number without a header.", midway="logged"
    )


class EvaluationColumns(Section):
    """Which columns of an evaluation table hold what; several targets are several references."""

    source: Column = key(
        "source", "Source column: its name, or 1-based number without a header.", midway="logged"
    )
    target: Annotated[
        Annotated[Column, Tag("<one>")] | Annotated[ReferenceColumns, Tag("<list>")],
        Discriminator(one_or_list),
    ] = key("target", "Target column, or a list of them: several references.", midway="logged")


class TrainFiles(Files, Weighted):
    """Two parallel files of training text."""

    target: DataFile = key(
        ..., "File with their translations, line by line.", midway="logged", example="train.target.txt"
    )

    @property
    def columns_read(self) -> dict[str, Path]:
        """The files by what they hold: ``source``, ``target``."""
        return {"source": self.source, "target": self.target}


class TrainTable(Table, Weighted):
    """A table of training text."""

    columns: TrainColumns = key(TrainColumns(), "Which column is which.", midway="logged")

    @property
    def columns_read(self) -> dict[str, str | int]:
        """The table's columns by what they hold: ``source``, ``target``."""
        return {"source": self.columns.source, "target": self.columns.target}


class EvaluationFiles(Files):
    """Parallel files of an evaluation set."""

    target: Annotated[
        Annotated[DataFile, Tag("<one>")] | Annotated[References, Tag("<list>")], Discriminator(one_or_list)
    ] = key(
        ..., "File with their translations, or a list of files: several references.", midway="logged",
        example="train.target.txt",
    )  # fmt: skip

    @property
    def columns_read(self) -> dict[str, Path]:
        """The files by what they hold: ``source``, ``target``, ``target_2`` and so on."""
        return {"source": self.source, **_numbered(self.target)}


class EvaluationTable(Table):
    """A table of an evaluation set."""

    columns: EvaluationColumns = key(EvaluationColumns(), "Which column is which.", midway="logged")

    @property
    def columns_read(self) -> dict[str, str | int]:
        """The table's columns by what they hold: ``source``, ``target``, ``target_2`` and so on."""
        return {"source": self.columns.source, **_numbered(self.columns.target)}


TrainEntry = Annotated[
    Annotated[TrainFiles, Tag("<files>")] | Annotated[TrainTable, Tag("<table>")], Discriminator(entry_form)
]
EvaluationEntry = Annotated[
    Annotated[EvaluationFiles, Tag("<files>")] | Annotated[EvaluationTable, Tag("<table>")],
    Discriminator(entry_form),
]
TrainList = Annotated[tuple[TrainEntry, ...], Strict(False), Field(min_length=1)]
EvaluationList = Annotated[tuple[EvaluationEntry, ...], Strict(False), Field(min_length=1)]
NamedSets = Annotated[dict[Name, EvaluationEntry], Field(min_length=1)]

TrainData = Annotated[
    Annotated[TrainFiles, Tag("<files>")]
    | Annotated[TrainTable, Tag("<table>")]
    | Annotated[TrainList, Tag("<list>")],
    Discriminator(train_form),
]
DevData = Annotated[
    Annotated[EvaluationFiles, Tag("<files>")]
    | Annotated[EvaluationTable, Tag("<table>")]
    | Annotated[EvaluationList, Tag("<list>")]
    | Annotated[NamedSets, Tag("<named>")]
    | Annotated[Fraction, Tag("<fraction>")],
    Discriminator(form),
]
TestData = Annotated[
    Annotated[EvaluationFiles, Tag("<files>")]
    | Annotated[EvaluationTable, Tag("<table>")]
    | Annotated[EvaluationList, Tag("<list>")]
    | Annotated[NamedSets, Tag("<named>")],
    Discriminator(test_form),
]


def _numbered(targets: Value | Sequence[Value]) -> dict[str, Value]:
    several = targets if isinstance(targets, tuple) else (targets,)
    return {"target" if n == 1 else f"target_{n}": target for n, target in enumerate(several, start=1)}
