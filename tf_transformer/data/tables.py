"""Rows of a table: tab-separated, comma-separated (RFC 4180) or one JSON object a line."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from tf_transformer.data.characters import is_blank
from tf_transformer.data.lines import BadLine, LineReader
from tf_transformer.errors import DataError

_KINDS: Final = {".tsv": "tsv", ".tab": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@dataclass
class Cells:
    """The wanted cells of a table.

    Attributes:
        columns: Name of a column to its cells, one a row.
        lines: Line number on which each row begins.
        bad: Line number to what is wrong with the row; such a row has cells too, to be left out.
        blank: Lines with nothing on them, which are no rows.
    """

    columns: dict[str, list[str]]
    lines: list[int] = field(default_factory=list)
    bad: dict[int, BadLine] = field(default_factory=dict)
    blank: list[int] = field(default_factory=list)

    def add(self, line: int, cells: Mapping[str, str]) -> None:
        """Take one more row; a missing cell is an empty one."""
        self.lines.append(line)
        for name, column in self.columns.items():
            column.append(cells.get(name, ""))


def table_kind(path: Path) -> str:
    """The kind of table that a name's ending tells: `tsv`, `csv` or `jsonl` (each also with `.gz`).

    Raises:
        DataError: The ending tells nothing.
    """
    name = path.name.lower().removesuffix(".gz")
    kind = next((kind for ending, kind in _KINDS.items() if name.endswith(ending)), None)
    if kind is None:
        raise DataError(f"{path}: the name of a table must end in {', '.join(_KINDS)} (.gz may follow)")
    return kind


def read_cells(reader: LineReader, columns: Mapping[str, str | int]) -> Cells:
    """Read the wanted columns of a table.

    Args:
        reader: The lines of the file, not yet iterated over.
        columns: Our name of a column to its name in the header (a string; for JSON lines the key), or to its
            number from 1 in a table without header.

    Returns:
        The cells. Those that hold nothing, rows with another number of columns than the table has (an empty
        last one is tolerated), broken quotes and lines that the reader found bad are in `bad`.

    Raises:
        DataError: A wanted column is missing or ambiguous, or a quote is never closed.
    """
    kind = table_kind(reader.path)
    cells = Cells({name: [] for name in columns})
    if kind == "jsonl":
        _read_objects(reader, columns, cells)
    else:
        _read_delimited(reader, kind, columns, cells)
    if kind != "csv":  # there a row may have several lines, and is told apart already
        cells.bad.update(reader.bad)
    return cells


def _read_delimited(reader: LineReader, kind: str, columns: Mapping[str, str | int], cells: Cells) -> None:
    rows = csv_rows(reader, cells) if kind == "csv" else tsv_rows(reader, cells)
    positions: dict[str, int] = {}
    width = None
    if any(isinstance(column, str) for column in columns.values()):
        line, header = next(rows, (0, []))
        if not reader.count:
            return
        fault = cells.bad.get(line) or reader.bad.get(line)
        if fault is not None:  # no row that could be skipped: it says what all rows are
            raise DataError(f"{reader.path}: line {line} is the header, and {fault.reason}: {fault.detail}")
        positions, width = named_positions(reader.path, columns, header), len(header)
    else:
        positions = {name: int(number) - 1 for name, number in columns.items()}
    widths: list[int] = []
    open_ended: list[bool] = []
    for line, row in rows:
        cells.add(line, {name: row[at] for name, at in positions.items() if at < len(row)})
        widths.append(len(row))
        open_ended.append(row[-1] == "")
    if width is None and widths:
        width = common_width(reader.path, positions, widths)
    for index, (line, found) in enumerate(zip(cells.lines, widths, strict=True)):
        if found != width and not (found - 1 == width and open_ended[index]):
            detail = f"{found} {'column' if found == 1 else 'columns'}, not {width}"
            cells.bad.setdefault(line, BadLine("number of columns", detail))
            continue
        for name, at in positions.items():
            if is_blank(cells.columns[name][index]):
                detail = f"column {at + 1} ({name}) of {found} columns is empty"
                cells.bad.setdefault(line, BadLine("empty cell", detail))


def tsv_rows(reader: LineReader, cells: Cells) -> Iterator[tuple[int, list[str]]]:
    """Rows of a table with tabs, which knows no quotes."""
    for text in reader:
        row = text.split("\t")
        if len(row) == 1 and is_blank(text) and reader.count not in reader.bad:
            cells.blank.append(reader.count)
        else:
            yield reader.count, row


def csv_rows(reader: LineReader, cells: Cells) -> Iterator[tuple[int, list[str]]]:
    """Rows of a table with commas; a quoted cell may run over several lines."""
    # A lone CR would be taken as a line end by the parser; as white space it ends as a space anyway.
    rows = csv.reader((text.replace("\r", " ") + "\n" for text in reader), strict=True)
    while True:
        first = reader.before + rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if "end of data" in str(error) or "field limit" in str(error):
                raise DataError(
                    f"{reader.path}: the row that begins on line {first} has a quote that is never closed, "
                    f"or a cell of more than {csv.field_size_limit():,} characters"
                ) from None
            cells.bad[first] = BadLine("quotes", f"misplaced quote ({error})")
            row = [""]
        span = range(first, reader.before + rows.line_num + 1)
        fault = next((reader.bad[line] for line in span if line in reader.bad), None)
        if fault is not None:
            cells.bad[first] = fault
        if first in cells.bad or any(len(row) > 1 or not is_blank(cell) for cell in row):
            yield first, row or [""]
        else:
            cells.blank.append(first)


def _read_objects(reader: LineReader, columns: Mapping[str, str | int], cells: Cells) -> None:
    for text in reader:
        if is_blank(text) and reader.count not in reader.bad:
            cells.blank.append(reader.count)
            continue
        found: dict[str, str] = {}
        try:
            found = _strings_of(text, columns)
        except json.JSONDecodeError as error:
            cells.bad[reader.count] = BadLine("JSON", f"{error.msg} at character {error.pos + 1}")
        except (ValueError, RecursionError) as error:
            cells.bad[reader.count] = BadLine("JSON", str(error))
        cells.add(reader.count, found)


def _strings_of(text: str, columns: Mapping[str, str | int]) -> dict[str, str]:
    """The wanted strings of one JSON object."""
    row = json.loads(text, object_pairs_hook=_unique_keys)
    if not isinstance(row, dict):
        raise ValueError(f"a JSON object is needed. Received: {type(row).__name__}")
    found = {}
    for name, key in columns.items():
        if key not in row:
            raise ValueError(f"key {key!r} is missing; the object has {', '.join(map(repr, row))}")
        value = row[key]
        if not isinstance(value, str):
            raise ValueError(f"the value of {key!r} must be a string. Received: {json.dumps(value)[:40]}")
        if is_blank(value):
            raise ValueError(f"the value of {key!r} is empty")
        if "\0" in value or not _is_encodable(value):
            raise ValueError(f"the value of {key!r} holds a NUL or half a surrogate pair")
        found[name] = value
    return found


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"key {twice!r} occurs twice")
    return row


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def named_positions(path: Path, columns: Mapping[str, str | int], header: list[str]) -> dict[str, int]:
    names = [cell.strip() for cell in header]
    listed = ", ".join(repr(name) for name in names) or "nothing"
    positions = {}
    for name, wanted in columns.items():
        if names.count(str(wanted)) > 1:
            raise DataError(f"{path}: the header names column {wanted!r} more than once. Received: {listed}")
        if wanted not in names:
            near = get_close_matches(str(wanted), names, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise DataError(f"{path}: the header has no column {wanted!r}{hint}. Received: {listed}")
        positions[name] = names.index(str(wanted))
    return positions


def common_width(path: Path, positions: Mapping[str, int], widths: list[int]) -> int:
    """The number of columns that most rows have: a ragged row stands out wherever it is."""
    width = Counter(widths).most_common(1)[0][0]
    for name, at in positions.items():
        if at >= width:
            raise DataError(f"{path}: the table has {width} columns. Received: column {at + 1} for {name}")
    return width
