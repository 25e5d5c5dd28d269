"""Corpora from text files and tables, row by row as they are, or an error that names file and line."""

import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tf_transformer.data.lines import BadLine, LineReader, check_encoding
from tf_transformer.data.report import CorpusReport, Finding
from tf_transformer.data.spans import Span, SpanReader, refuse_unequal
from tf_transformer.data.tables import read_cells, table_kind
from tf_transformer.errors import DataError

OnBadRow = Literal["error", "skip"]
_DETAILED = 5
"""Bad rows that an error describes one by one."""


@dataclass(frozen=True)
class Corpus:
    """Aligned columns of text.

    Attributes:
        columns: Name of a column, such as `source`, to its texts; row i of each belongs together.
        lines: Line number of each row in its file, from 1; int64, shape `[rows]`.
        name: What reports call the corpus.
        files: The files it was read from.
        report: What happened to its rows so far.
    """

    columns: dict[str, list[str]]
    lines: np.ndarray[Any, np.dtype[np.int64]]
    name: str
    files: tuple[Path, ...]
    report: CorpusReport

    def __len__(self) -> int:
        return len(self.lines)

    def select(self, rows: np.ndarray[Any, Any], report: CorpusReport | None = None) -> "Corpus":
        """The corpus of some of its rows.

        Args:
            rows: Row numbers from 0, integer, any order.
            report: The report of the new corpus; the present one by default.

        Returns:
            A new corpus.
        """
        columns = {name: [texts[row] for row in rows] for name, texts in self.columns.items()}
        return replace(self, columns=columns, lines=self.lines[rows], report=report or self.report)


def read_parallel(
    files: Mapping[str, str | Path],
    *,
    encoding: str | Mapping[str, str] = "utf-8",
    on_bad_row: OnBadRow = "error",
    name: str | None = None,
    spans: Mapping[str, Span] | None = None,
) -> Corpus:
    """Read files whose lines belong together: line i of one is the translation of line i of the others.

    Empty lines are rows here (`clean` drops such pairs, with counts), so the files stay aligned.

    Args:
        files: Name of a column to its file; plain text, or gzip with the ending `.gz`.
        encoding: Encoding of all files, or of each column. A byte-order mark in a file goes before it.
        on_bad_row: What happens to a line that cannot be decoded, has a NUL or is over 1 MiB: `"error"`
            stops, `"skip"` leaves the row out and counts it.
        name: What reports call the corpus; by default the first file's name.
        spans: For each column the lines that are read; all of them by default.

    Returns:
        The corpus.

    Raises:
        ValueError: An argument is wrong.
        DataError: A file is missing, unreadable, empty, cut, not text, or given twice; the numbers of lines
            differ; or there are bad rows and `on_bad_row` is `"error"`.
    """
    check_on_bad_row(on_bad_row)
    if not files:
        raise ValueError("`files` must name one file for each column. Received: none")
    paths = {column: Path(file) for column, file in files.items()}
    encodings = _encodings(paths, encoding)
    _refuse_twice(paths)
    columns: dict[str, list[str]] = {}
    readers: dict[str, LineReader] = {}
    for column, path in paths.items():
        readers[column] = _reader(path, encodings[column], None if spans is None else spans[column])
        columns[column] = list(readers[column])
        _refuse_empty(readers[column])
    refuse_unequal({reader.path: reader.count for reader in readers.values()})
    bad: dict[int, BadLine] = {}
    for column, reader in readers.items():
        if reader.bad and on_bad_row == "error":
            raise bad_rows_error(reader.path, reader.bad)
        for line, fault in reader.bad.items():
            bad.setdefault(line, replace(fault, reason=f"{fault.reason} ({column})"))
    count = len(next(iter(columns.values())))
    first = next(iter(paths.values()))
    notes = [note for reader in readers.values() for note in reader.notes]
    report = CorpusReport(name or first.name, count, warnings=tuple(notes))
    lines = np.arange(1, count + 1, dtype=np.int64) + next(iter(readers.values())).before
    corpus = Corpus(columns, lines, report.name, tuple(paths.values()), report)
    return without_bad_rows(corpus, bad, may_be_empty=spans is not None)


def read_table(
    path: str | Path,
    columns: Mapping[str, str | int],
    *,
    encoding: str = "utf-8",
    on_bad_row: OnBadRow = "error",
    name: str | None = None,
    span: Span | None = None,
) -> Corpus:
    """Read columns of a table: `.tsv` (no quoting), `.csv` (RFC 4180) or `.jsonl`, each also with `.gz`.

    A line with nothing on it is dropped and counted. A row with another number of columns than the table has
    (the header's, or the one that most rows have) or with an empty cell in a wanted column is a bad row; one
    empty column too many at the end is tolerated.

    Args:
        path: The table.
        columns: Our name of a column to its name in the header (or key in JSON lines), or to its number from
            1 in a table without header; all names or all numbers.
        encoding: Encoding of the file. A byte-order mark in it goes before.
        on_bad_row: `"error"` stops at bad rows, `"skip"` leaves them out and counts them.
        name: What reports call the corpus; by default the file's name.
        span: The lines that are read, beside the header; all of them by default. The number of columns is
            then the one that most rows of these have.

    Returns:
        The corpus.

    Raises:
        ValueError: An argument is wrong.
        DataError: The file cannot be read, has no rows, lacks a column, or has bad rows while `on_bad_row` is
            `"error"`.
    """
    check_on_bad_row(on_bad_row)
    check_encoding(encoding)
    file = Path(path)
    _check_columns(columns, table_kind(file))
    reader = _reader(file, encoding, span)
    cells = read_cells(reader, columns)
    _refuse_empty(reader)
    if cells.bad and on_bad_row == "error":
        raise bad_rows_error(file, cells.bad)
    if not cells.lines and span is None:
        raise DataError(f"{file}: the table has no rows: there are no pairs to read")
    rows = len(cells.lines) + len(cells.blank)
    blank = {"blank line": Finding.at(cells.blank)} if cells.blank else {}
    report = CorpusReport(name or file.name, rows, blank, warnings=tuple(reader.notes))
    lines = np.array(cells.lines, np.int64)
    corpus = Corpus(cells.columns, lines, report.name, (file,), report)
    return without_bad_rows(corpus, cells.bad, may_be_empty=span is not None)


def _reader(path: Path, encoding: str, span: Span | None) -> LineReader:
    return LineReader(path, encoding) if span is None else SpanReader(path, encoding, span)


def without_bad_rows(corpus: Corpus, bad: Mapping[int, BadLine], *, may_be_empty: bool = False) -> Corpus:
    """The corpus without its bad rows, which are counted by reason."""
    if not bad:
        return corpus
    reasons = {fault.reason for fault in bad.values()}
    dropped = {
        reason: Finding.at(sorted(line for line, fault in bad.items() if fault.reason == reason))
        for reason in sorted(reasons)
    }
    rows = np.flatnonzero(~np.isin(corpus.lines, np.fromiter(bad, np.int64)))
    if not len(rows) and not may_be_empty:
        raise DataError(f"{corpus.files[0]}: no row can be used: {len(bad):,} bad ({', '.join(dropped)})")
    return corpus.select(rows, corpus.report.extended(dropped=dropped))


def bad_rows_error(path: Path, bad: Mapping[int, BadLine]) -> DataError:
    """What is said of a file with lines or rows that cannot be used."""
    lines = sorted(bad)
    details = "; ".join(f"line {line}: {bad[line].detail}" for line in lines[:_DETAILED])
    counts = Counter(fault.reason for fault in bad.values())
    summed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.items()))
    more = " and further ones" if len(lines) > _DETAILED else ""
    return DataError(
        f"{path}: {len(lines):,} bad {'row' if len(lines) == 1 else 'rows'} ({summed}): {details}{more}. "
        "Repair the file, set `encoding` if it is in another one, or set `on_bad_row` to 'skip'"
    )


def check_on_bad_row(on_bad_row: str) -> None:
    """Refuses what says neither to stop nor to skip."""
    if on_bad_row not in ("error", "skip"):
        raise ValueError(f"`on_bad_row` must be 'error' or 'skip'. Received: {on_bad_row!r}")


def _check_columns(columns: Mapping[str, str | int], kind: str) -> None:
    wanted = list(columns.values())
    names = all(isinstance(column, str) for column in wanted)
    numbers = all(type(column) is int and column > 0 for column in wanted)
    if not wanted or not (names or numbers):
        raise ValueError(
            "`columns` must be all names, or all numbers from 1 for a table without header. "
            f"Received: {wanted}"
        )
    if numbers and kind == "jsonl":
        raise ValueError(f"`columns` of JSON lines must be keys, not numbers. Received: {wanted}")
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"`columns` must name each column of the table once. Received: {wanted}")


def _encodings(columns: Collection[str], encoding: str | Mapping[str, str]) -> dict[str, str]:
    """The encoding of each column; one that was said of another column would not be used at all."""
    if not isinstance(encoding, Mapping):
        return dict.fromkeys(columns, encoding)
    unknown = sorted(set(encoding) - set(columns))
    if unknown:
        raise ValueError(f"`encoding` must be for columns of {sorted(columns)}. Received: {unknown}")
    return {column: encoding.get(column, "utf-8") for column in columns}


def _refuse_twice(paths: Mapping[str, Path]) -> None:
    seen: dict[str, str] = {}
    for column, path in paths.items():
        if "\0" in str(path):
            raise DataError(f"{str(path)!r}: there is no such file: a name has no NUL")
        real = os.path.realpath(path)
        if real in seen:
            raise DataError(f"{path}: the same file is given as {seen[real]} and as {column}")
        seen[real] = column


def _refuse_empty(reader: LineReader) -> None:
    if not reader.count:
        raise DataError(f"{reader.path}: the file is empty: there are no pairs to read")
