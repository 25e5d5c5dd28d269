"""The entries of a text classification's ``data`` section: texts and their labels."""

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


class LabelledFiles(TextEntry):
    """Two parallel files, a text a line and its label."""

    text: DataFile = key(..., "File with the texts.", midway="logged", example="train.text.txt")
    label: DataFile = key(
        ..., "File with their labels, line by line.", midway="logged", example="train.label.txt"
    )

    @property
    def title(self) -> str:
        """The entry's name, or its text file's."""
        return self.name or stem(self.text)

    @property
    def columns_read(self) -> dict[str, Path]:
        """The files by what they hold."""
        return {"text": self.text, "label": self.label}


class LabelledColumns(Section):
    """Which columns of a table hold what."""

    text: Column = key(
        "text", "Column of the texts: its name, or 1-based number without a header.", midway="logged"
    )
    label: Column = key("label", "Column of the labels, likewise.", midway="logged")


class LabelledTable(Table):
    """A table with a text and a label a row."""

    columns: LabelledColumns = key(LabelledColumns(), "Which column is which.", midway="logged")

    @property
    def columns_read(self) -> dict[str, str | int]:
        """The table's columns by what they hold."""
        return {"text": self.columns.text, "label": self.columns.label}


class TrainLabelledFiles(LabelledFiles, Weighted):
    """Two parallel files of training examples."""


class TrainLabelledTable(LabelledTable, Weighted):
    """A table of training examples."""


TrainEntry = Annotated[
    Annotated[TrainLabelledFiles, Tag("<files>")] | Annotated[TrainLabelledTable, Tag("<table>")],
    Discriminator(entry_form),
]
EvaluationEntry = Annotated[
    Annotated[LabelledFiles, Tag("<files>")] | Annotated[LabelledTable, Tag("<table>")],
    Discriminator(entry_form),
]
TrainList = Annotated[tuple[TrainEntry, ...], Strict(False), Field(min_length=1)]
EvaluationList = Annotated[tuple[EvaluationEntry, ...], Strict(False), Field(min_length=1)]
NamedSets = Annotated[dict[Name, EvaluationEntry], Field(min_length=1)]

TrainData = Annotated[
    Annotated[TrainLabelledFiles, Tag("<files>")]
    | Annotated[TrainLabelledTable, Tag("<table>")]
    | Annotated[TrainList, Tag("<list>")],
    Discriminator(train_form),
]
DevData = Annotated[
    Annotated[LabelledFiles, Tag("<files>")]
    | Annotated[LabelledTable, Tag("<table>")]
    | Annotated[EvaluationList, Tag("<list>")]
    | Annotated[NamedSets, Tag("<named>")]
    | Annotated[Fraction, Tag("<fraction>")],
    Discriminator(form),
]
TestData = Annotated[
    Annotated[LabelledFiles, Tag("<files>")]
    | Annotated[LabelledTable, Tag("<table>")]
    | Annotated[EvaluationList, Tag("<list>")]
    | Annotated[NamedSets, Tag("<named>")],
    Discriminator(test_form),
]
