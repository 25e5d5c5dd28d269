"""The entries of a ``data`` section whose examples are no text: pictures, or sequences of vectors."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Discriminator, Field, Tag

from tf_transformer.recipe.entries import ATable, Entry, Fraction, ListOf, NamedSetsOf, Weighted, form, stem
from tf_transformer.recipe.fields import ArraysFile, Column, DataFolder, Encoding, TableFile, key

ArrayName = Annotated[str, Field(min_length=1)]


class ExampleEntry(Entry):
    """The keys that every such entry has."""

    on_bad_row: Literal["error", "skip"] = key(
        "error", "An example that cannot be read rightly: stop, or skip and count it.", midway="logged"
    )


class Folder(ExampleEntry):
    """A folder with a subfolder for each class, which holds its examples, a file each."""

    FORM: ClassVar[str] = "<folder>"

    folder: DataFolder = key(
        ..., "Folder with a subfolder for each class, a file an example.", midway="logged", example="train"
    )

    @property
    def title(self) -> str:
        """The entry's name, or its folder's."""
        return self.name or self.folder.name


class Arrays(ExampleEntry):
    """Named arrays in a file of NumPy."""

    FORM: ClassVar[str] = "<arrays>"

    arrays: ArraysFile = key(
        ..., "NPZ file of named arrays, an example a row.", midway="logged", example="train.npz"
    )
    labels: ArrayName = key("labels", "The array of labels: whole numbers or text.", midway="logged")

    @property
    def title(self) -> str:
        """The entry's name, or its file's."""
        return self.name or stem(self.arrays)


class ExampleTable(ExampleEntry):
    """A table with an example a row."""

    FORM: ClassVar[str] = "<table>"

    table: TableFile = key(
        ..., "Table with an example a row, by its ending; .gz too.", midway="logged", example="train.csv"
    )
    label: Column = key(
        "label",
        "Column of labels: its name, or its 1-based number where there is no header.",
        midway="logged",
    )
    encoding: Encoding = key(
        "utf-8", "Encoding of the table; bytes that do not fit it are faults.", midway="logged"
    )

    @property
    def title(self) -> str:
        """The entry's name, or its table's."""
        return self.name or stem(self.table)


class TrainFolder(Folder, Weighted):
    """A folder of training examples."""


def example_form(value: Any) -> str:
    """Which of the forms above a single entry has."""
    if isinstance(value, ExampleEntry):
        return value.FORM
    keys = value if isinstance(value, Mapping) else {}
    return next((f"<{name}>" for name in ("arrays", "table") if name in keys), "<folder>")


def set_form(value: Any) -> str:
    """As ``example_form``, where several entries, or a fraction, may stand as well."""
    found = form(value)
    return found if found in ("<list>", "<named>", "<fraction>") else example_form(value)


def train_form(value: Any) -> str:
    """As ``example_form``, where a list may stand as well."""
    return "<list>" if form(value) == "<list>" else example_form(value)


def test_form(value: Any) -> str:
    """As ``set_form``, where nothing can be carved."""
    return example_form(value) if form(value) == "<fraction>" else set_form(value)


# What may stand in `data`, given a task's own folder, arrays and table.
AFolder = TypeVar("AFolder")
AnArrays = TypeVar("AnArrays")

EntryOf = Annotated[
    Annotated[AFolder, Tag("<folder>")]
    | Annotated[AnArrays, Tag("<arrays>")]
    | Annotated[ATable, Tag("<table>")],
    Discriminator(example_form),
]
TrainOf = Annotated[
    Annotated[AFolder, Tag("<folder>")]
    | Annotated[AnArrays, Tag("<arrays>")]
    | Annotated[ATable, Tag("<table>")]
    | Annotated[ListOf[EntryOf[AFolder, AnArrays, ATable]], Tag("<list>")],
    Discriminator(train_form),
]
DevOf = Annotated[
    Annotated[AFolder, Tag("<folder>")]
    | Annotated[AnArrays, Tag("<arrays>")]
    | Annotated[ATable, Tag("<table>")]
    | Annotated[ListOf[EntryOf[AFolder, AnArrays, ATable]], Tag("<list>")]
    | Annotated[NamedSetsOf[EntryOf[AFolder, AnArrays, ATable]], Tag("<named>")]
    | Annotated[Fraction, Tag("<fraction>")],
    Discriminator(set_form),
]
TestOf = Annotated[
    Annotated[AFolder, Tag("<folder>")]
    | Annotated[AnArrays, Tag("<arrays>")]
    | Annotated[ATable, Tag("<table>")]
    | Annotated[ListOf[EntryOf[AFolder, AnArrays, ATable]], Tag("<list>")]
    | Annotated[NamedSetsOf[EntryOf[AFolder, AnArrays, ATable]], Tag("<named>")],
    Discriminator(test_form),
]
