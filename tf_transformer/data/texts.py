"""Corpora of one column, `text`: a file as one long text, its paragraphs, or its lines."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np

from tf_transformer.data.characters import is_blank
from tf_transformer.data.lines import BadLine, LineReader, check_encoding
from tf_transformer.data.report import CorpusReport, Finding
from tf_transformer.data.sources import (
    Corpus,
    OnBadRow,
    bad_rows_error,
    check_on_bad_row,
    read_parallel,
    without_bad_rows,
)
from tf_transformer.errors import DataError

Unit = Literal["text", "paragraph", "line"]

_LONGEST_LINE: Final = 1 << 30
"""A whole text may be a single line."""


def read_texts(
    path: str | Path,
    unit: Unit = "text",
    *,
    encoding: str = "utf-8",
    on_bad_row: OnBadRow = "error",
    name: str | None = None,
) -> Corpus:
    """Read a file of running text. Line ends become LF; everything else stays as it is.

    Args:
        path: A text file, plain, or gzip with the ending `.gz`.
        unit: What is a text of its own: the whole file (`"text"`), what stands between blank lines
            (`"paragraph"`), or a line.
        encoding: Encoding of the file. A byte-order mark in it goes before.
        on_bad_row: What happens to a line that cannot be decoded or has a NUL: `"error"` stops, `"skip"`
            leaves it out (of a paragraph, the whole paragraph) and counts it.
        name: What reports call the corpus; by default the file's name.

    Returns:
        The corpus; the line of a text is its first one.

    Raises:
        ValueError: An argument is wrong.
        DataError: The file is missing, unreadable, empty, cut, or not text; or there are bad lines and
            `on_bad_row` is `"error"`.
    """
    if unit not in get_args(Unit):
        raise ValueError(f"`unit` must be one of {', '.join(get_args(Unit))}. Received: {unit!r}")
    check_on_bad_row(on_bad_row)
    check_encoding(encoding)
    if unit == "line":
        return read_parallel({"text": path}, encoding=encoding, on_bad_row=on_bad_row, name=name)
    reader = LineReader(path, encoding, _LONGEST_LINE)
    lines = list(reader)
    if all(is_blank(line) for line in lines) and not reader.bad:
        raise DataError(f"{reader.path}: there is no text in the file")
    if reader.bad and on_bad_row == "error":
        raise bad_rows_error(reader.path, reader.bad)
    label = name or reader.path.name
    return _whole(reader, lines, label) if unit == "text" else _paragraphs(reader, lines, label)


def _whole(reader: LineReader, lines: list[str], name: str) -> Corpus:
    good = [line for number, line in enumerate(lines, start=1) if number not in reader.bad]
    if not good:
        raise DataError(f"{reader.path}: no line can be used of {len(lines):,}")
    text = "\n".join(good) + ("\n" if reader.ended else "")
    dropped = {
        reason: Finding.at([line for line, fault in sorted(reader.bad.items()) if fault.reason == reason])
        for reason in sorted({fault.reason for fault in reader.bad.values()})
    }
    report = CorpusReport(name, len(lines), dropped, warnings=tuple(reader.notes))
    return Corpus({"text": [text]}, np.ones(1, np.int64), name, (reader.path,), report)


def _paragraphs(reader: LineReader, lines: list[str], name: str) -> Corpus:
    texts: list[str] = []
    first: list[int] = []
    bad: dict[int, BadLine] = {}
    for start, paragraph in _runs(lines):
        texts.append("\n".join(paragraph))
        first.append(start)
        faults = (reader.bad.get(line) for line in range(start, start + len(paragraph)))
        fault = next((fault for fault in faults if fault is not None), None)
        if fault is not None:
            bad[start] = fault
    report = CorpusReport(name, len(texts), warnings=tuple(reader.notes))
    corpus = Corpus({"text": texts}, np.array(first, np.int64), name, (reader.path,), report)
    return without_bad_rows(corpus, bad)


def _runs(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines that are not blank, each with the number of its first line."""
    for blank, run in groupby(enumerate(lines, start=1), key=lambda numbered: is_blank(numbered[1])):
        if not blank:
            numbered = list(run)
            yield numbered[0][0], [line for _, line in numbered]


def carve_ends(corpus: Corpus, fraction: float) -> tuple[Corpus, Corpus]:
    """Carve a dev set from the ends of long texts: what is read last is not trained on.

    Args:
        corpus: Texts.
        fraction: Share of the characters of each text, above 0 and below 1; the cut is made behind the next
            line end, or exactly there where no text would be left.

    Returns:
        The beginnings, and the ends.

    Raises:
        ValueError: `fraction` is wrong.
        DataError: One side of a text would be blank.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"`fraction` must be above 0 and below 1. Received: {fraction}")
    halves = []
    for line, text in zip(corpus.lines, corpus.columns["text"], strict=True):
        cut = round(len(text) * (1 - fraction))
        line_end = text.find("\n", cut) + 1
        cut = line_end if line_end and not is_blank(text[line_end:]) else cut
        if is_blank(text[:cut]) or is_blank(text[cut:]):
            raise DataError(
                f"{corpus.name}: a fraction of {fraction} of the {len(text):,} characters from line {line} "
                "on leaves one side without text"
            )
        halves.append((text[:cut], text[cut:]))
    rest, carved = (replace(corpus, columns={"text": list(side)}) for side in zip(*halves, strict=True))
    return rest, carved
