"""The entries of a recipe's ``data`` section: which files hold the text, and how they are read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Discriminator, Field, Strict, Tag

from tf_transformer.presets import GREATEST_WEIGHT
from tf_transformer.recipe.fields import (
    Column,
    DataFile,
    Encoding,
    Flag,
    Name,
    NormalForm,
    Section,
    TableFile,
    key,
    one_or_list,
)

References = Annotated[tuple[DataFile, ...], Strict(False), Field(min_length=1)]
ReferenceColumns = Annotated[tuple[Column, ...], Strict(False), Field(min_length=1)]
Value = TypeVar("Value")


class Entry(Section):
    """The keys that every kind of entry has."""

    name: Name | None = key(None, "Name in reports and figures; by default the file's.", midway="free")
    encoding: Encoding = key(
        "utf-8", "Encoding of the files; bytes that do not fit it are faults.", midway="logged"
    )
    on_bad_row: Literal["error", "skip"] = key(
        "error", "A line or row that cannot be read rightly: stop, or skip and count it.", midway="logged"
    )
    deduplicate: Flag = key(False, "Keep only one of several equal pairs.", midway="logged")
    # Free, since text.normal_form follows it and is what a run cannot change.
    normal_form: NormalForm | None = key(
        None, "Unicode normal form of the text; text.normal_form follows it.", midway="free"
    )


class Files(Entry):
    """Parallel text files, one sentence a line."""

    source: DataFile = key(
        ..., "File with the source sentences.", midway="logged", example="train.source.txt"
    )

    @property
    def label(self) -> str:
        """The entry's name, or its source file's."""
        return self.name or _stem(self.source)


class Table(Entry):
    """A table, one sentence with its translation a row."""

    table: TableFile = key(
        ..., "TSV, CSV or JSONL file, by its ending; .gz too.", midway="logged", example="train.tsv"
    )

    @property
    def label(self) -> str:
        """The entry's name, or its table's."""
        return self.name or _stem(self.table)


class Weighted(Section):
    """What an entry of training text has beside: its share."""

    weight: float = key(
        1.0, "Times that an epoch takes this corpus.", midway="logged", gt=0, le=GREATEST_WEIGHT
    )


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


class Fraction(Section):
    """A dev set carved from the training text."""

    fraction: float = key(
        ..., "Share of the training pairs set apart, by a hash of the source side.", midway="refused",
        example=0.05, gt=0, le=0.5,
    )  # fmt: skip


def form(value: Any) -> str:
    """Which of the forms below a value of ``data.train``, ``data.dev`` or ``data.test`` has.

    The brackets keep the names of forms apart from the names of keys where faults are reported.
    """
    if isinstance(value, Section):
        kinds = {Fraction: "<fraction>", Table: "<table>", Files: "<files>"}
        return next(name for kind, name in kinds.items() if isinstance(value, kind))
    if isinstance(value, list | tuple):
        return "<list>"
    if not isinstance(value, Mapping) or not value or not all(isinstance(v, Mapping) for v in value.values()):
        keys: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        return "<fraction>" if "fraction" in keys else "<table>" if "table" in keys else "<files>"
    return "<named>"


def _entry_form(value: Any) -> str:
    """As ``form``, where only a single entry may stand."""
    found = form(value)
    return found if found in ("<table>", "<files>") else "<files>"


def _train_form(value: Any) -> str:
    return "<list>" if form(value) == "<list>" else _entry_form(value)


def _test_form(value: Any) -> str:
    return "<files>" if form(value) == "<fraction>" else form(value)


TrainEntry = Annotated[
    Annotated[TrainFiles, Tag("<files>")] | Annotated[TrainTable, Tag("<table>")], Discriminator(_entry_form)
]
EvaluationEntry = Annotated[
    Annotated[EvaluationFiles, Tag("<files>")] | Annotated[EvaluationTable, Tag("<table>")],
    Discriminator(_entry_form),
]
TrainList = Annotated[tuple[TrainEntry, ...], Strict(False), Field(min_length=1)]
EvaluationList = Annotated[tuple[EvaluationEntry, ...], Strict(False), Field(min_length=1)]
NamedSets = Annotated[dict[Name, EvaluationEntry], Field(min_length=1)]

TrainData = Annotated[
    Annotated[TrainFiles, Tag("<files>")]
    | Annotated[TrainTable, Tag("<table>")]
    | Annotated[TrainList, Tag("<list>")],
    Discriminator(_train_form),
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
    Discriminator(_test_form),
]


def _stem(path: Path) -> str:
    """File name without its endings: ``train.tsv.gz`` is ``train``, ``train.en`` is ``train``."""
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def _numbered(targets: Value | Sequence[Value]) -> dict[str, Value]:
    several = targets if isinstance(targets, tuple) else (targets,)
    return {"target" if n == 1 else f"target_{n}": target for n, target in enumerate(several, start=1)}
