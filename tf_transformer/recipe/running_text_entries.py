"""The entries of a language model's ``data`` section: running text, in files and tables."""

from pathlib import Path

from tf_transformer.recipe.entries import DevOf, Table, TestOf, TextEntry, TrainOf, Weighted, stem
from tf_transformer.recipe.fields import Column, DataFile, Section, key


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


TrainTexts = TrainOf[TrainTextFile, TrainTextTable]
DevTexts = DevOf[TextFile, TextTable]
TestTexts = TestOf[TextFile, TextTable]
