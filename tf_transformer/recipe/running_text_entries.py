"""The entries of a language model's ``data`` section: running text, in files and tables."""

from pathlib import Path
from typing import Annotated

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
from tf_transformer.recipe.fields import Column, DataFile, Name, Section, key


class TextFile(TextEntry):
    """A text file."""

    text: DataFile = key(..., "Text file; .gz too.", midway="logged", example="train.txt")

    @property
    def title(self) -> str:
        """The entry's name, or its file's."""
        return self.name or stem(self.text)

    @property
    def columns_read(self) -> dict[str, Path]:
        """The file by what it holds: ``text``."""
        return {"text": self.text}


class TextColumns(Section):
    """Which column of a table holds the text."""

    text: Column = key("text", "Text column: its name, or 1-based number without a header.", midway="logged")


class TextTable(Table):
    """A table, one text a row."""

    columns: TextColumns = key(TextColumns(), "Which column holds the text.", midway="logged")

    @property
    def columns_read(self) -> dict[str, str | int]:
        """The table's column by what it holds: ``text``."""
        return {"text": self.columns.text}


class TrainTextFile(TextFile, Weighted):
    """A file of training text."""


class TrainTextTable(TextTable, Weighted):
    """A table of training texts."""


TrainTextEntry = Annotated[
    Annotated[TrainTextFile, Tag("<files>")] | Annotated[TrainTextTable, Tag("<table>")],
    Discriminator(entry_form),
]
EvaluationTextEntry = Annotated[
    Annotated[TextFile, Tag("<files>")] | Annotated[TextTable, Tag("<table>")], Discriminator(entry_form)
]
TrainTextList = Annotated[tuple[TrainTextEntry, ...], Strict(False), Field(min_length=1)]
EvaluationTextList = Annotated[tuple[EvaluationTextEntry, ...], Strict(False), Field(min_length=1)]
NamedTexts = Annotated[dict[Name, EvaluationTextEntry], Field(min_length=1)]

TrainTexts = Annotated[
    Annotated[TrainTextFile, Tag("<files>")]
    | Annotated[TrainTextTable, Tag("<table>")]
    | Annotated[TrainTextList, Tag("<list>")],
    Discriminator(train_form),
]
DevTexts = Annotated[
    Annotated[TextFile, Tag("<files>")]
    | Annotated[TextTable, Tag("<table>")]
    | Annotated[EvaluationTextList, Tag("<list>")]
    | Annotated[NamedTexts, Tag("<named>")]
    | Annotated[Fraction, Tag("<fraction>")],
    Discriminator(form),
]
TestTexts = Annotated[
    Annotated[TextFile, Tag("<files>")]
    | Annotated[TextTable, Tag("<table>")]
    | Annotated[EvaluationTextList, Tag("<list>")]
    | Annotated[NamedTexts, Tag("<named>")],
    Discriminator(test_form),
]
