"""The entries of a text classification's ``data`` section: texts and their labels."""

from pathlib import Path

from tf_transformer.recipe.entries import DevOf, Table, TestOf, TextEntry, TrainOf, Weighted, stem
from tf_transformer.recipe.fields import Column, DataFile, Section, key


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


TrainData = TrainOf[TrainLabelledFiles, TrainLabelledTable]
DevData = DevOf[LabelledFiles, LabelledTable]
TestData = TestOf[LabelledFiles, LabelledTable]
