"""Word vectors that were trained elsewhere, in the text format of word2vec, GloVe and fastText."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tf_transformer.data.lines import LineReader
from tf_transformer.errors import DataError

_LONGEST_SHOWN: Final = 40


@dataclass(frozen=True)
class WordVectors:
    """The vectors of the wanted words that a file has.

    Attributes:
        vectors: The vector of each word that was found, float32 `[dimensions]`.
        dimensions: The length of a vector.
        lines: How many words the file has.
        repeated: How many of the wanted words it has twice or more; the first vector counts.
    """

    vectors: dict[str, np.ndarray[Any, np.dtype[np.float32]]]
    dimensions: int
    lines: int
    repeated: int


def read_word_vectors(path: str | Path, wanted: Collection[str]) -> WordVectors:
    """Reads the vectors of some words: one word a line, then its numbers, all parted by single spaces.

    word2vec's first line, the number of words and that of dimensions, may be there or not; where it is, it
    must be true. A word may have spaces in it, as some of GloVe's have: the last numbers of a line are the
    vector. Only the wanted words are kept in memory.

    Args:
        path: The file, UTF-8, plain or gzip with the ending `.gz`.
        wanted: The words.

    Returns:
        What was found.

    Raises:
        DataError: The file cannot be read, or a line of it is not as said; the message names file and line.
    """
    reader, wanted = LineReader(path), frozenset(wanted)
    vectors: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = {}
    head: tuple[int, int] | None = None
    dimensions = repeated = words = 0
    for line in reader:
        number = reader.count
        if number in reader.bad:
            raise DataError(f"{reader.path}, line {number}: {reader.bad[number].detail}")
        cells = line.rstrip(" ").split(" ")
        if number == 1 and len(cells) == 2 and all(cell.isascii() and cell.isdigit() for cell in cells):
            head = int(cells[0]), int(cells[1])
            continue
        if not dimensions:
            dimensions = head[1] if head else len(cells) - 1
        words += 1
        word = " ".join(cells[:-dimensions])
        values = _numbers(cells[-dimensions:]) if dimensions else None
        if not word or values is None or not dimensions:
            raise DataError(_malformed(reader.path, number, line, dimensions))
        if word in vectors:
            repeated += 1
        elif word in wanted:
            vectors[word] = values
    if not words:
        raise DataError(f"{reader.path}: the file is empty: there are no word vectors to read")
    if head and head[0] != words:
        raise DataError(
            f"{reader.path}, line 1: says {head[0]:,} words, and the file has {words:,}: it is cut or damaged"
        )
    return WordVectors(vectors, dimensions, words, repeated)


def _numbers(cells: list[str]) -> np.ndarray[Any, np.dtype[np.float32]] | None:
    try:
        values = np.array(cells, np.float32)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _malformed(path: Path, number: int, line: str, dimensions: int) -> str:
    shown = line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}…"
    rule = f"a word and {dimensions} finite numbers" if dimensions else "a word and its numbers"
    return f"{path}, line {number}: must be {rule}, parted by single spaces. Received: {shown!r}"
