"""Parts of text files that are read on their own: where rows begin, how files are cut, and their lines."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from tf_transformer.data.lines import LineReader
from tf_transformer.data.opening import PEEK_BYTES, open_bytes
from tf_transformer.errors import DataError

IntArray = np.ndarray[Any, np.dtype[np.int64]]
_CHUNK: Final = 1 << 20
_STRIDE: Final = 256
"""Rows are known to begin at every so many lines, and files are cut there."""


@dataclass(frozen=True)
class Span:
    """Some lines of a file.

    Attributes:
        first: Number of the first line, from 1.
        last: Number of the last one.
        start: The byte that they begin at; None where only reading from the start of the file finds them, as
            in gzip.
        end: The byte behind them; None likewise.
        encoding: Encoding of these bytes.
        header: The bytes of a header, first and behind the last, and its lines; None where there is none.
    """

    first: int
    last: int
    start: int | None
    end: int | None
    encoding: str
    header: tuple[int, int, int] | None = None


class SpanReader(LineReader):
    """The lines of a span, a header before them; otherwise like `LineReader`.

    Args:
        path: See `LineReader`.
        encoding: See `LineReader`; a mark in the file goes before it.
        span: Which lines.
    """

    def __init__(self, path: Path, encoding: str, span: Span) -> None:
        super().__init__(path, encoding)
        self.span = span
        self.before = span.first - 1 - self._header_lines

    @property
    def _header_lines(self) -> int:
        return self.span.header[2] if self.span.header else 0

    def __iter__(self) -> Iterator[str]:
        span = self.span
        if span.start is None or span.end is None:
            yield from self._passing()
            return
        with open(self.path, "rb") as file:
            self.count = self.before
            for start, end in (*([span.header[:2]] if span.header else []), (span.start, span.end)):
                file.seek(start)
                self._start = start
                part = cast(io.RawIOBase, _Part(file, end - start))
                yield from self._decoded(io.BufferedReader(part, PEEK_BYTES), span.encoding)

    def _passing(self) -> Iterator[str]:
        """The lines, found by reading the file from its start."""
        first, last = self.span.first, self.span.last
        for text in super().__iter__():
            if self.count > last:
                break
            if self.count >= first or self.count <= self._header_lines:
                yield text
        self.count = last
        self.bad = {line: fault for line, fault in self.bad.items() if first <= line <= last}


class _Part(io.RawIOBase):
    """So many bytes of a file, from where it stands."""

    def __init__(self, file: Any, size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._file.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)


@dataclass(frozen=True)
class Survey:
    """Where rows of a file begin.

    Attributes:
        path: The file.
        encoding: Its encoding, which a mark may have decided.
        lines: How many it has.
        size: Bytes of it, decompressed.
        marks: Numbers of lines that begin a row, ascending, the first row of the data among them.
        offsets: The byte that each of them begins at; None where that is of no use.
        header: See `Span`.
    """

    path: Path
    encoding: str
    lines: int
    size: int
    marks: IntArray
    offsets: IntArray | None
    header: tuple[int, int, int] | None

    @property
    def rows(self) -> int:
        """Lines of the data: its rows, unless some rows have several lines."""
        return self.lines - (self.header[2] if self.header else 0)

    def span(self, first: int, behind: int) -> Span:
        """The lines from one mark to another one, or to the end."""
        start = end = None
        if self.offsets is not None:
            start, end = (self._offset(line) for line in (first, behind))
        return Span(first, behind - 1, start, end, self.encoding, self.header)

    def _offset(self, line: int) -> int:
        assert self.offsets is not None
        place = int(np.searchsorted(self.marks, line))
        return int(self.offsets[place]) if place < len(self.marks) else self.size


def survey(path: Path, encoding: str, *, has_header: bool = False, is_csv: bool = False) -> Survey:
    """Look where rows of a file begin, in one pass and little memory.

    Args:
        path: A text file or table.
        encoding: Encoding of a file without byte-order mark.
        has_header: Whether the first row is no row of the data.
        is_csv: Whether a row may have several lines.

    Raises:
        DataError: The file cannot be read, or has no row.
    """
    return _Surveyor(path, encoding).survey(has_header, is_csv)


class _Surveyor(LineReader):
    """Reads a file for its row starts alone."""

    def survey(self, has_header: bool, is_csv: bool) -> Survey:
        with open_bytes(self.path) as stream:
            encoding = self._encoding_of(stream)
            is_plain = "\n".encode(encoding) == b"\n"
            if is_plain:
                marks, lines, size = (_csv_marks if is_csv else _line_marks)(stream, self._start)
        if not is_plain:  # lines are found by decoding alone, and rows of several lines not at all
            lines, size = sum(1 for _ in LineReader(self.path, self.encoding)), 0
            numbers = [line for line in (1, 2, *range(1 + _STRIDE, lines + 1, _STRIDE)) if line <= lines]
            numbers = numbers[: 1 + has_header] if is_csv else numbers
            marks = np.array([numbers, [0] * len(numbers)], np.int64)
        if marks.shape[1] <= has_header:
            raise DataError(f"{self.path}: the {'table' if has_header else 'file'} has no rows")
        header = (int(marks[1, 0]), int(marks[1, 1]), int(marks[0, 1]) - 1) if has_header else None
        rows, offsets = marks[:, int(has_header) :]
        seekable = is_plain and self.path.suffix.lower() != ".gz"
        return Survey(self.path, encoding, lines, size, rows, offsets if seekable else None, header)


def _line_marks(stream: io.BufferedReader, position: int) -> tuple[IntArray, int, int]:
    """Where rows begin, as lines and as bytes, int64 `[2, marks]`: line 1, line 2, and every so many lines.

    Returns:
        The marks, how many lines there are, and the byte behind the last.
    """
    marks, lines, last = [np.array([[1], [position]], np.int64)], 0, b"\n"
    while data := stream.read(_CHUNK):
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
        numbers = lines + np.arange(1, len(ends) + 1)  # of the lines that end there
        chosen = (numbers % _STRIDE == 0) | (numbers == 1)
        marks.append(np.stack([numbers[chosen] + 1, ends[chosen] + position]))
        lines, position, last = lines + len(ends), position + len(data), data[-1:]
    lines += last != b"\n"
    return _within(np.concatenate(marks, axis=1), lines), lines, position


def _within(marks: IntArray, lines: int) -> IntArray:
    return marks[:, marks[0] <= lines]


def _csv_marks(stream: io.BufferedReader, position: int) -> tuple[IntArray, int, int]:
    """As `_line_marks`, of rows that may have several lines."""
    count = 0

    def lines() -> Iterator[str]:
        nonlocal position, count
        for line in stream:
            position, count = position + len(line), count + 1
            # Whatever the encoding: quotes, commas and line ends are the same bytes in all of them.
            yield line.rstrip(b"\r\n").decode("latin-1").replace("\r", " ") + "\n"

    rows, marks = csv.reader(lines(), strict=True), [(1, position)]
    while True:
        try:
            next(rows)
        except StopIteration:
            break
        except csv.Error:
            pass  # told by whoever reads the row
        if len(marks) == 1 or count + 1 >= marks[-1][0] + _STRIDE:
            marks.append((count + 1, position))
    return _within(np.array(marks, np.int64).T, count), count, position


def cut(surveys: Mapping[str, Survey], rows: int) -> list[dict[str, Span]]:
    """Cut files whose lines belong together into parts.

    Args:
        surveys: Of each column's file.
        rows: About how many rows a part has.

    Returns:
        For each part the span of each column.

    Raises:
        DataError: The numbers of lines differ.
    """
    refuse_unequal({found.path: found.lines for found in surveys.values()})
    one = next(iter(surveys.values()))
    starts = [0]
    while (place := int(np.searchsorted(one.marks, one.marks[starts[-1]] + rows))) < len(one.marks):
        starts.append(place)
    return [_span(surveys, *pair) for pair in zip(starts, [*starts[1:], len(one.marks)], strict=True)]


def runs(surveys: Mapping[str, Survey], places: Iterable[int]) -> list[dict[str, Span]]:
    """Some of the shortest parts that files can be cut into, by their numbers."""
    return [_span(surveys, place, place + 1) for place in places]


def _span(surveys: Mapping[str, Survey], place: int, behind: int) -> dict[str, Span]:
    """What lies between two marks."""
    marks, lines = (one := next(iter(surveys.values()))).marks, one.lines
    first, last = int(marks[place]), int(marks[behind]) if behind < len(marks) else lines + 1
    return {name: found.span(first, last) for name, found in surveys.items()}


def refuse_unequal(counts: Mapping[Path, int]) -> None:
    """Refuses parallel files of different length; names all."""
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{path} has {count:,}" for path, count in counts.items())
        raise DataError(f"Parallel files must have equal numbers of lines. Received: {listed}")
