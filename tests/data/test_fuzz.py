"""Broken text files at random: each is read as the reader of `conftest` does, or refused by file and line."""

import codecs
import gzip
import json
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tf_transformer.data import lines as reader_module
from tf_transformer.data.cleaning import clean
from tf_transformer.data.sources import Corpus, read_parallel, read_table
from tf_transformer.errors import DataError

FILES_A_SEED = 100
SECONDS_A_SEED = 120
COLUMNS = ("source", "target")
MARKS = (
    codecs.BOM_UTF8,
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
    codecs.BOM_UTF32_LE,
    codecs.BOM_UTF32_BE,
)
ENCODINGS = (
    *["utf-8"] * 9,
    *("ascii", "latin-1", "gb18030", "shift_jis", "utf-16", "utf-16-le", "utf-32-be", "cp037"),
)
WORDS = (
    "a",
    "b",
    "ä",
    "上",
    "𝄞",
    "a b",
    '"',
    "'",
    ",",
    "",
    " ",
    "\u200b",
    "\x85",
    "\u2028",
    "\x0b",
    "e\u0301",
)
JUNK = (
    *(b"\n", b"\n", b"\r\n", b"\r", b"\t", b",", b'"', b'"', b'""', b"\0", b" ", b"a" * 400),
    *(b"\xff", b"\xc3\xa4", b"\xe4", b"\xa4", b"\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"PK\x03\x04", b"source", b"target"),
    *(b"{", b"[" * 100_000, b'"source": "z", ', b"1e999", b"9" * 5000),
    b'{"source": "x", "target": "\\ud800"}',
    b'{"source": "x", "target": "y", "x": {"a": 1, "a": 2}}',
)


class Maker:
    """Draws files and how they are read."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def rows(self) -> list[tuple[str, str]]:
        count = self.draw.choice((0, 1, 2, 3, 5, 8, 13))
        if self.draw.random() < 0.005:
            count = 5000  # beyond every buffer
        return [(self.text(f"S{row}"), self.text(f"T{row}")) for row in range(count)]

    def text(self, name: str) -> str:
        return "".join((self.draw.choice(WORDS), name, self.draw.choice(WORDS)))

    def table(self, kind: str, named: bool) -> str:
        rows = [*([COLUMNS] if named and kind != "jsonl" else []), *self.rows()]
        if kind == "jsonl":
            return "".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows)
        if kind == "tsv":
            rows = [(one.replace("\t", " "), two.replace("\t", " ")) for one, two in rows]
        more = self.draw.random() < 0.3
        written = [[*row, "more"] if more else list(row) for row in rows]
        if kind == "csv":
            written = [[self.quoted(cell) for cell in row] for row in written]
        return "".join(("," if kind == "csv" else "\t").join(row) + "\n" for row in written)

    def quoted(self, cell: str) -> str:
        if self.draw.random() < 0.1:
            cell = cell + "\n" + cell
        if set(cell) & set(',"\n') or self.draw.random() < 0.3:
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def broken(self, text: str, name: str, encoding: str) -> bytes:
        if self.draw.random() < 0.2:
            text = text.replace("\n", self.draw.choice(("\r\n", "\r", "\n\n")), self.draw.choice((-1, 1)))
        if self.draw.random() < 0.2:
            text = text.removesuffix("\n")
        written = encoding if self.draw.random() < 0.9 else self.draw.choice(ENCODINGS)
        content = text.encode(written, "replace")
        for _ in range(self.draw.choice((0, 0, 1, 1, 2, 3))):
            at = self.draw.randrange(len(content) + 1)
            junk = self.draw.choice(JUNK) if self.draw.random() < 0.8 else b""
            content = content[:at] + junk + content[at + self.draw.choice((0, 0, 1, 2)) :]
        if self.draw.random() < 0.08:
            content = self.draw.choice(MARKS) + content
        if self.draw.random() < 0.01:
            content = b""
        return self.packed(content) if name.endswith(".gz") != (self.draw.random() < 0.02) else content

    def packed(self, content: bytes) -> bytes:
        half = self.draw.randrange(len(content) + 1)
        packed = gzip.compress(content[:half], mtime=0) + gzip.compress(content[half:], mtime=0)
        if self.draw.random() < 0.1:
            return packed[: self.draw.randrange(len(packed))]
        if self.draw.random() < 0.1:
            packed = gzip.compress(content, mtime=0)
            at = self.draw.randrange(10, len(packed))  # of the first ten bytes readers look at different ones
            return packed[:at] + bytes([packed[at] ^ 1 << self.draw.randrange(8)]) + packed[at + 1 :]
        return packed


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Ends what hangs."""

    def stop(*_: Any) -> None:
        raise AssertionError(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Case:
    """The files of a corpus, and how they are to be read."""

    contents: dict[str, bytes]
    kind: str
    named: bool
    skip: bool
    encoding: str

    @classmethod
    def drawn(cls, maker: Maker) -> "Case":
        draw = maker.draw
        encoding, skip, named = draw.choice(ENCODINGS), draw.random() < 0.5, draw.random() < 0.5
        ending = draw.choice(("", "", "", ".gz"))
        kind = draw.choice(("parallel", "tsv", "csv", "jsonl"))
        if kind == "parallel":
            sides = zip(*maker.rows(), strict=True)
            texts = ["".join(cell.replace("\n", " ") + "\n" for cell in side) for side in sides] or ["", ""]
            names = [f"{column}.txt{ending}" for column in COLUMNS]
        else:
            texts, names = [maker.table(kind, named)], [f"table.{kind}{ending}"]
        contents = {name: maker.broken(text, name, encoding) for name, text in zip(names, texts, strict=True)}
        return cls(contents, kind, named, skip, encoding)

    def read(self, folder: Path) -> Corpus:
        options: dict[str, Any] = {
            "encoding": self.encoding,
            "on_bad_row": "skip" if self.skip else "error",
        }
        files = [folder / name for name in self.contents]
        if self.kind == "parallel":
            return read_parallel(dict(zip(COLUMNS, files, strict=True)), **options)
        names = COLUMNS if self.named or self.kind == "jsonl" else (1, 2)
        return read_table(files[0], dict(zip(COLUMNS, names, strict=True)), **options)


def read_one(plain: SimpleNamespace, maker: Maker, folder: Path, longest: int) -> str:
    """Makes one corpus and reads it both ways; what came of it."""
    case = Case.drawn(maker)
    for name, content in case.contents.items():
        (folder / name).write_bytes(content)
    files: list[Any] = []
    try:
        for name, content in case.contents.items():
            files.append(plain.Oracle(name, content, case.encoding, longest))
            if case.kind == "parallel" and files[-1].end:
                raise files[-1].end
        if case.kind == "parallel":
            rows = plain.expected_pairs(files, case.skip)
        else:
            rows = plain.expected_rows(files[0], case.kind, case.named, case.skip)
        if not rows:
            raise plain.Refused(files[0].name)
    except plain.Refused as refused:
        with pytest.raises(DataError) as caught:
            case.read(folder)
        # Of two faults, how much is read at once decides which one is met first.
        lines = [refused.line, *(file.end.line for file in files if file.end)]
        check_refusal(str(caught.value), folder / refused.file, lines)
        return "refused"
    check_corpus(plain, case.read(folder), rows)
    return "read"


def check_refusal(message: str, file: Path, lines: list[int | None]) -> None:
    assert "\n" not in message and str(file) in message
    assert None in lines or any(re.search(rf"\bline {line}\b", message) for line in lines), message


def check_corpus(plain: SimpleNamespace, corpus: Corpus, rows: list[tuple[int, str, str]]) -> None:
    assert list(zip(corpus.lines.tolist(), *corpus.columns.values(), strict=True)) == rows
    assert corpus.report.kept == len(corpus)
    lines = [line for line, *texts in rows if not any(plain.blank(text) for text in texts)]
    if lines:
        cleaned = clean(corpus, lambda texts: [" ".join(text.split()) for text in texts])
        assert cleaned.lines.tolist() == lines and cleaned.report.kept == len(lines)


def read_many(
    plain: SimpleNamespace, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Counter[str]:
    maker = Maker(seed)
    outcomes: Counter[str] = Counter()
    with no_longer_than(SECONDS_A_SEED):
        for number in range(FILES_A_SEED):
            longest = maker.draw.choice((1 << 20, 1 << 20, 300, 40))
            monkeypatch.setattr(reader_module, "MAX_LINE_BYTES", longest)
            try:
                outcomes[read_one(plain, maker, folder, longest)] += 1
            except BaseException as error:  # pytest's own is no Exception
                error.add_note(f"seed {seed}, corpus {number}, files in {folder}")
                raise
    return outcomes


@pytest.mark.parametrize("seed", range(5))
def test_read_rightly_or_refused(
    plain: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    outcomes = read_many(plain, seed, tmp_path, monkeypatch)
    assert min(outcomes["read"], outcomes["refused"]) > FILES_A_SEED / 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_ten_thousand_files(
    plain: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    assert read_many(plain, seed, tmp_path, monkeypatch).total() == FILES_A_SEED
