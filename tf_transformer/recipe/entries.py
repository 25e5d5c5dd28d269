"""What the entries of ``data`` sections are made of: which files hold the examples, and how they are read.

Each task declares its own entries, of these parts.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Discriminator, Field, Strict, Tag

from tf_transformer.presets import GREATEST_WEIGHT
from tf_transformer.recipe.about_section import LICENCE, Line
from tf_transformer.recipe.fields import Encoding, Flag, Name, NormalForm, Section, TableFile, key


class Entry(Section):
    """The key that every kind of entry has; subclasses have the property ``title``, a name in any case."""

    FORM: ClassVar[str] = "<files>"

    name: Name | None = key(None, "Name in reports and figures; by default the file's.", midway="free")
    licence: Line | None = key(None, LICENCE, midway="free")


class TextEntry(Entry):
    """The keys of an entry that is read from text files."""

    encoding: Encoding = key(
        "utf-8", "Encoding of the files; bytes that do not fit it are faults.", midway="logged"
    )
    on_bad_row: Literal["error", "skip"] = key(
        "error", "A line or row that cannot be read rightly: stop, or skip and count it.", midway="logged"
    )
    deduplicate: Flag = key(False, "Keep only one of several equal rows.", midway="logged")
    # Free, since text.normal_form follows it and is what a run cannot change.
    normal_form: NormalForm | None = key(
        None, "Unicode normal form of the text; text.normal_form follows it.", midway="free"
    )


class Table(TextEntry):
    """A table, one example a row; subclasses have ``columns`` and ``columns_read``."""

    FORM: ClassVar[str] = "<table>"

    table: TableFile = key(
        ..., "TSV, CSV or JSONL file, by its ending; .gz too.", midway="logged", example="train.tsv"
    )

    @property
    def title(self) -> str:
        """The entry's name, or its table's."""
        return self.name or stem(self.table)


class Weighted(Section):
    """What an entry of training data has beside: its share."""

    weight: float = key(
        1.0, "Times that an epoch takes this corpus.", midway="logged", gt=0, le=GREATEST_WEIGHT
    )


class Fraction(Section):
    """A dev set carved from the training data."""

    FORM: ClassVar[str] = "<fraction>"

    fraction: float = key(
        ..., "Share of the training data set apart, by a hash of what the model reads.", midway="refused",
        example=0.05, gt=0, le=0.5,
    )  # fmt: skip


def form(value: Any) -> str:
    """Which of the forms above a value of ``data.train``, ``data.dev`` or ``data.test`` has.

    The brackets keep the names of forms apart from the names of keys where faults are reported.
    """
    if isinstance(value, Section):
        found: str = getattr(value, "FORM", Entry.FORM)
        return found
    if isinstance(value, list | tuple):
        return "<list>"
    if not isinstance(value, Mapping) or not value or not all(isinstance(v, Mapping) for v in value.values()):
        keys: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        return "<fraction>" if "fraction" in keys else "<table>" if "table" in keys else "<files>"
    return "<named>"


def entry_form(value: Any) -> str:
    """As ``form``, where only a single entry may stand."""
    found = form(value)
    return found if found in ("<table>", "<files>") else "<files>"


def train_form(value: Any) -> str:
    """As ``form``, where an entry or a list of entries may stand."""
    return "<list>" if form(value) == "<list>" else entry_form(value)


def test_form(value: Any) -> str:
    """As ``form``, where nothing can be carved."""
    return "<files>" if form(value) == "<fraction>" else form(value)


def stem(path: Path) -> str:
    """File name without its endings: ``train.tsv.gz`` is ``train``, ``train.en`` is ``train``."""
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


# What may stand in `data`, given a task's own entries: text files and tables. `example_entries` has the same
# for examples that are no text.
AnEntry = TypeVar("AnEntry")
SomeFiles = TypeVar("SomeFiles")
ATable = TypeVar("ATable")

ListOf = Annotated[tuple[AnEntry, ...], Strict(False), Field(min_length=1)]
NamedSetsOf = Annotated[dict[Name, AnEntry], Field(min_length=1)]
EntryOf = Annotated[
    Annotated[SomeFiles, Tag("<files>")] | Annotated[ATable, Tag("<table>")], Discriminator(entry_form)
]

TrainOf = Annotated[
    Annotated[SomeFiles, Tag("<files>")]
    | Annotated[ATable, Tag("<table>")]
    | Annotated[ListOf[EntryOf[SomeFiles, ATable]], Tag("<list>")],
    Discriminator(train_form),
]
DevOf = Annotated[
    Annotated[SomeFiles, Tag("<files>")]
    | Annotated[ATable, Tag("<table>")]
    | Annotated[ListOf[EntryOf[SomeFiles, ATable]], Tag("<list>")]
    | Annotated[NamedSetsOf[EntryOf[SomeFiles, ATable]], Tag("<named>")]
    | Annotated[Fraction, Tag("<fraction>")],
    Discriminator(form),
]
TestOf = Annotated[
    Annotated[SomeFiles, Tag("<files>")]
    | Annotated[ATable, Tag("<table>")]
    | Annotated[ListOf[EntryOf[SomeFiles, ATable]], Tag("<list>")]
    | Annotated[NamedSetsOf[EntryOf[SomeFiles, ATable]], Tag("<named>")],
    Discriminator(test_form),
]
