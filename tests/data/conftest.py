"""A reader of text files that is small and slow: what the real one must find, or must refuse."""

import codecs
import json
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

COLUMNS = ("source", "target")
LONGEST_CELL = 131_072
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}

Line = tuple[str, bool]
"""A line and whether it is bad."""
Row = tuple[int, list[str] | None, bool]
"""The line on which it begins, its cells (none on a line with nothing on it), and whether it is bad."""


class Refused(Exception):
    """That a file cannot be read, and which line is to blame, if one is."""

    def __init__(self, file: str, line: int | None = None) -> None:
        self.file, self.line = file, line


class Oracle:
    """Reads one file, or says that it cannot be read."""

    def __init__(self, name: str, content: bytes, encoding: str, longest: int) -> None:
        self.name, self.longest = name, longest
        self.end: Refused | None = None  # what comes after the lines, when they are not all
        self.lines = self._lines(self._unpacked(content), encoding)
        if not self.lines:
            raise self.end or Refused(name)

    def _unpacked(self, content: bytes) -> bytes:
        packed = content.startswith(b"\x1f\x8b")
        if content and packed != self.name.endswith(".gz"):
            raise Refused(self.name)
        result = b""
        while packed and content:
            member = zlib.decompressobj(31)
            try:
                result += member.decompress(content)
            except zlib.error:
                raise Refused(self.name) from None
            if not member.eof:
                raise Refused(self.name)
            content = member.unused_data.lstrip(b"\0")
        return result if packed else content

    def _lines(self, content: bytes, encoding: str) -> list[Line]:
        marked = next((name for name, mark in MARKS.items() if content.startswith(mark)), None)
        if marked:
            content, encoding = content[len(MARKS[marked]) :], marked
        elif self._is_binary(content, encoding) or encoding in ("utf-16", "utf-32"):
            raise Refused(self.name)
        if "\n".encode(encoding) != b"\n":
            content, encoding = self._whole(content, encoding).encode(), "utf-8"
        if b"\n" not in content and b"\r" in content[: self.longest].rstrip(b"\r"):
            raise Refused(self.name)
        parts = content.split(b"\n")
        ended = [(part.removesuffix(b"\r"), len(part) + 1 > self.longest) for part in parts[:-1]]
        rest = [(parts[-1], len(parts[-1]) >= self.longest)] if parts[-1] else []
        return [("", True) if too_long else self._text(part, encoding) for part, too_long in ended + rest]

    def _is_binary(self, content: bytes, encoding: str) -> bool:
        start = content[: 1 << 16]
        if start.startswith((b"PK\x03\x04", b"\x1f\x8b")):
            return True
        return bool(start) and encoding[:6] not in ("utf-16", "utf-32") and start.count(0) * 5 >= len(start)

    def _whole(self, content: bytes, encoding: str) -> str:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError as error:
            before = content[: error.start].decode(encoding)
            self.end = Refused(self.name, before.count("\n") + 1)
            return before

    def _text(self, part: bytes, encoding: str) -> Line:
        try:
            text = part.decode(encoding)
        except UnicodeDecodeError:
            return part.decode(encoding, "replace"), True
        return text, "\0" in text

    def rows(self, kind: str) -> Iterator[Row]:
        """The rows of a table, the header among them."""
        if kind == "csv":
            yield from self._comma_rows()
        else:
            yield from self._one_a_line(kind)
        if self.end:
            raise self.end

    def _one_a_line(self, kind: str) -> Iterator[Row]:
        for line, (text, bad) in enumerate(self.lines, start=1):
            cells = text.split("\t") if kind == "tsv" else object_cells(text)
            nothing = blank(text) and not bad and (kind == "jsonl" or len(cells) == 1)
            yield line, None if nothing else cells, bad

    def _comma_rows(self) -> Iterator[Row]:
        at = 0
        while at < len(self.lines):
            first, cells, state = at, [""], "begin"
            while True:
                if at == len(self.lines) or len(cells[-1]) > LONGEST_CELL:
                    raise self.end or Refused(self.name, first + 1)  # the last quote is never closed
                for char in self.lines[at][0].replace("\r", " ") + "\n":
                    state = comma_step(state, char, cells)
                at += 1
                if state != "quoted":
                    break
            bad = state == "wrong" or any(line_is_bad for _, line_is_bad in self.lines[first:at])
            cells = [""] if state == "wrong" else cells
            nothing = len(cells) == 1 and blank(cells[0]) and not bad
            yield first + 1, None if nothing else cells, bad


def comma_step(state: str, char: str, cells: list[str]) -> str:
    """One character of RFC 4180: the next state, the character put where it belongs."""
    if state == "wrong":
        return state
    if state == "quoted":
        if char == '"':
            return "quote"
    elif char == ",":
        cells.append("")
        return "begin"
    elif char == "\n":
        return "end"
    elif char == '"' and state == "begin":
        return "quoted"
    elif state == "quote" and char != '"':
        return "wrong"
    cells[-1] += char
    return "plain" if state in ("begin", "plain") else "quoted"


class Pairs(list[tuple[str, Any]]):
    """A JSON object with all its keys, those that occur twice too."""


def object_cells(text: str) -> list[str]:
    """Source and target of a JSON object; none where there is something wrong."""
    twice = False

    def noted(pairs: list[tuple[str, Any]]) -> Pairs:
        nonlocal twice
        twice |= len({key for key, _ in pairs}) < len(pairs)
        return Pairs(pairs)

    try:
        row = json.loads(text, object_pairs_hook=noted)
    except (ValueError, RecursionError):
        return []
    cells = [dict(row).get(column) for column in COLUMNS] if isinstance(row, Pairs) else [None]
    if twice or not all(isinstance(cell, str) for cell in cells):
        return []
    odd = any(char == "\0" or unicodedata.category(char) == "Cs" for cell in cells for char in cell)
    return [] if odd else cells


def blank(text: str) -> bool:
    return all(unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp") for char in text)


def expected_pairs(files: list[Oracle], skip: bool) -> list[tuple[int, str, str]]:
    """Line, source and target of parallel files."""
    first, second = (file.lines for file in files)
    if len(first) != len(second):
        raise Refused(files[0].name)
    for file in files:
        wrong = [number for number, (_, bad) in enumerate(file.lines, start=1) if bad]
        if wrong and not skip:
            raise Refused(file.name, wrong[0])
    numbered = enumerate(zip(first, second, strict=True), start=1)
    return [(line, one[0], two[0]) for line, (one, two) in numbered if not (one[1] or two[1])]


def expected_rows(file: Oracle, kind: str, named: bool, skip: bool) -> list[tuple[int, str, str]]:
    """Line, source and target of a table."""
    each = (row for row in file.rows(kind) if row[1] is not None)
    places, width, wrong = [0, 1], 2, []
    if kind != "jsonl" and named:
        line, header, bad = next(each, (0, [], False))
        if bad:
            raise Refused(file.name, line)
        names, width = [cell.strip() for cell in header or []], len(header or [])
        if any(names.count(column) != 1 for column in COLUMNS):
            raise Refused(file.name)
        places = [names.index(column) for column in COLUMNS]
    rows = list(each)
    if kind != "jsonl" and not named and rows:
        sizes = [len(cells or []) for _, cells, _ in rows]
        width = max(sizes, key=lambda size: (Counter(sizes)[size], -sizes.index(size)))
        if width < 2:
            raise Refused(file.name)
    good = []
    for line, row, bad in rows:
        cells = row or []
        fits = len(cells) == width or (kind != "jsonl" and len(cells) == width + 1 and cells[-1] == "")
        if bad or not fits or any(blank(cells[place]) for place in places):
            wrong.append(line)
        else:
            good.append((line, cells[places[0]], cells[places[1]]))
    if wrong and not skip:
        raise Refused(file.name, min(wrong))
    return good


@pytest.fixture(scope="session")
def plain() -> SimpleNamespace:
    """The reader, what it expects of files, and what it calls blank."""
    return SimpleNamespace(
        Oracle=Oracle,
        Refused=Refused,
        expected_pairs=expected_pairs,
        expected_rows=expected_rows,
        blank=blank,
    )
