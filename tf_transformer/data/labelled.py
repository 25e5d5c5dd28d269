"""Examples that are no text, such as pictures, each with its label."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tf_transformer.data.report import CorpusReport, Finding
from tf_transformer.errors import DataError, counted

OnBadRow = Literal["error", "skip"]
IntArray = np.ndarray[Any, np.dtype[np.int64]]
_DETAILED = 3
"""Bad examples that a message describes one by one."""


@dataclass(frozen=True)
class LabelledCorpus:
    """Examples and their labels.

    Attributes:
        inputs: One a row: pictures, uint8 `[rows, height, width, channels]`, or a list of sequences, float32
            `[T, F]`, T vectors of F features.
        labels: The label of each row.
        places: Where each row is found: a file below a folder, or a row of a file.
        lines: The number of each row in what was read, from 1; int64 `[rows]`.
        name: What reports call the corpus.
        files: The files or folders it was read from.
        report: What happened to its rows so far.
    """

    inputs: Any
    labels: list[str]
    places: list[str]
    lines: IntArray
    name: str
    files: tuple[Path, ...]
    report: CorpusReport

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, rows: IntArray, report: CorpusReport | None = None) -> "LabelledCorpus":
        """The corpus of some of its rows.

        Args:
            rows: Row numbers from 0, any order.
            report: The report of the new corpus; the present one by default.
        """
        inputs = self.inputs
        return replace(
            self,
            inputs=inputs[rows] if isinstance(inputs, np.ndarray) else [inputs[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            places=[self.places[row] for row in rows],
            lines=self.lines[rows],
            report=report or self.report,
        )


def place_of(corpus: LabelledCorpus, row: int) -> str:
    """The file or folder of a row, and its place there."""
    return f"{corpus.files[0]}, {corpus.places[row]}"


def labelled_corpus(
    rows: Sequence[tuple[str, str]],
    read: Mapping[int, Any],
    bad: Mapping[int, str],
    path: Path,
    name: str | None,
    on_bad_row: OnBadRow,
    stack: Callable[[list[Any]], Any],
) -> LabelledCorpus:
    """Joins what was read of a file or folder, or refuses what could not be read.

    Args:
        rows: Place and label of each row.
        read: What was read of each good row, by its number from 0.
        bad: What is wrong with each other row.
        path: The file or folder.
        name: What reports call the corpus; by default the file's or the folder's name.
        on_bad_row: `"error"` stops at bad rows, `"skip"` leaves them out and counts them.
        stack: Joins what was read of all rows.

    Raises:
        DataError: When there are bad rows and `on_bad_row` is `"error"`, or no row is good.
    """
    if bad and (on_bad_row == "error" or not read):
        raise DataError(_told(path, rows, bad))
    numbers = sorted(read)
    lines = np.array(numbers, np.int64) + 1
    report = CorpusReport(name or path.name, len(rows))
    if bad:
        dropped = {"cannot be used": Finding.at([number + 1 for number in sorted(bad)])}
        report = report.extended(dropped, warnings=[_told(path, rows, bad)])
    return LabelledCorpus(
        stack([read[number] for number in numbers]),
        [rows[number][1] for number in numbers],
        [rows[number][0] for number in numbers],
        lines,
        report.name,
        (path,),
        report,
    )


def _told(path: Path, rows: Sequence[tuple[str, str]], bad: Mapping[int, str]) -> str:
    numbers = sorted(bad)
    details = "; ".join(f"{rows[number][0]} {bad[number]}" for number in numbers[:_DETAILED])
    more = f"; and {len(bad) - _DETAILED:,} more" if len(bad) > _DETAILED else ""
    return (
        f"{path}: {counted(len(bad), 'example')} of {len(rows):,} cannot be used: {details}{more}. "
        "Repair or remove what is wrong, or set `on_bad_row` to 'skip'"
    )


def split_examples(corpus: LabelledCorpus, fraction: float) -> tuple[LabelledCorpus, LabelledCorpus]:
    """Carves a dev set from a corpus so that equal examples are never on both sides.

    The hash of an example's content alone decides: an example stays where it is when others are added or the
    order changes.

    Args:
        corpus: The corpus.
        fraction: Expected share that is carved, above 0 and below 1.

    Returns:
        The larger corpus that remains and the carved one.

    Raises:
        ValueError: `fraction` is wrong.
        DataError: One side would have no rows.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"`fraction` must be above 0 and below 1. Received: {fraction}")
    bound = int(Fraction(fraction) * 2**64)
    carved = np.array([_hash(example) < bound for example in corpus.inputs], bool)
    if carved.all() or not carved.any():
        raise DataError(
            f"{corpus.name}: a fraction of {fraction} of {len(corpus):,} examples leaves one side without any"
        )
    return _part(corpus, ~carved, "carved out"), _part(corpus, carved, "left in the rest")


def _part(corpus: LabelledCorpus, chosen: np.ndarray[Any, Any], other: str) -> LabelledCorpus:
    report = corpus.report.extended({other: Finding.at(corpus.lines[~chosen].tolist())})
    return corpus.select(np.flatnonzero(chosen), report)


def _hash(example: np.ndarray[Any, Any]) -> int:
    return int.from_bytes(digest(example)[:8], "big")


def digest(example: np.ndarray[Any, Any]) -> bytes:
    """What tells one example from another: of its shape and its values."""
    content = repr(example.shape).encode() + np.ascontiguousarray(example).tobytes()
    return hashlib.blake2b(content, digest_size=16).digest()
