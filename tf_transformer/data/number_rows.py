"""Tables of numbers, a row an example or a moment, with or without a column of labels."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.data.lines import LineReader
from tf_transformer.data.tables import Cells, common_width, csv_rows, named_positions, table_kind, tsv_rows
from tf_transformer.errors import DataError

Numbers = np.ndarray[Any, np.dtype[np.float32]]


@dataclass
class NumberRows:
    """What a table of numbers holds.

    Attributes:
        values: The numbers of each row, float32 `[columns]`; of a bad row nothing that counts.
        labels: The label of each row; empty where no column of labels was asked for.
        lines: The line that each row begins on.
        bad: What is wrong with a row, by its number from 0.
    """

    values: list[Numbers] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    bad: dict[int, str] = field(default_factory=dict)


def read_number_rows(
    path: Path, label: str | int | None = None, width: int | None = None, encoding: str = "utf-8"
) -> NumberRows:
    """Reads a table whose cells, but for one column of labels, are numbers.

    Args:
        path: A `.csv` or `.tsv` file, also with `.gz`; blank lines are passed over.
        label: The column of labels: its name where the table has a header, its number from 1 where it has
            none; None for none, where a first row without any number is taken for a header.
        width: Columns of numbers that each row must have; by default as many as most rows have.
        encoding: Encoding of the file.

    Raises:
        DataError: When the file cannot be read, is empty, or lacks the column.
    """
    if (kind := table_kind(path)) == "jsonl":
        raise DataError(f"{path}: a table of numbers must be .csv or .tsv. Received: JSON lines")
    reader, cells = LineReader(path, encoding), Cells({})
    rows = list((csv_rows if kind == "csv" else tsv_rows)(reader, cells))
    place = label - 1 if isinstance(label, int) else None
    if isinstance(label, str) and rows:
        place = named_positions(path, {"label": label}, rows.pop(0)[1])["label"]
    elif label is None and rows and not any(map(_is_number, rows[0][1])):
        rows.pop(0)
    if not rows:
        raise DataError(f"{path}: the table has no rows: there are no numbers to read")
    if width is None:
        width = common_width(path, {}, [len(row) for _, row in rows]) - (place is not None)
    faults = {line: bad.detail for line, bad in (reader.bad | cells.bad).items()}
    return _parsed(path, rows, place, width, faults)


def _parsed(
    path: Path, rows: list[tuple[int, list[str]]], place: int | None, width: int, faults: dict[int, str]
) -> NumberRows:
    found = NumberRows()
    columns = width + (place is not None)
    if place is not None and place >= columns:
        raise DataError(
            f"{path}: the table must have {columns} columns. Received: column {place + 1} for label"
        )
    for number, (line, row) in enumerate(rows):
        found.lines.append(line)
        fault = faults.get(line)
        if fault is None and len(row) != columns:
            fault = f"has {len(row)} {'column' if len(row) == 1 else 'columns'}, and all must have {columns}"
        if fault is None and place is not None and not row[place].strip():
            fault = f"has no label in column {place + 1}"
        values = np.zeros(0, np.float32)
        if fault is None:
            values, fault = _numbers(row, place)
        if fault is not None:
            found.bad[number] = fault
        found.values.append(values)
        if place is not None:
            found.labels.append(row[place].strip() if place < len(row) else "")
    return found


def _numbers(row: list[str], place: int | None) -> tuple[Numbers, str | None]:
    cells = row if place is None else row[:place] + row[place + 1 :]
    try:
        return np.array(cells, np.float32), None
    except ValueError:
        return np.zeros(0, np.float32), next(_not_numbers(row, place))


def _not_numbers(row: list[str], place: int | None) -> Iterator[str]:
    for column, cell in enumerate(row):
        if column != place and not _is_number(cell):
            yield f"has no number in column {column + 1}: {cell[:40]!r}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
