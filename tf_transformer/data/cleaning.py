"""From rows as they stand in the files to pairs worth training on, with a count of all that is left out."""

import hashlib
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tf_transformer.data.characters import CONTROL, HTML_ENTITY, ZERO_WIDTH, is_blank
from tf_transformer.data.report import Finding
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import DataError

CONTROL_CHARACTERS: Final = "control characters"
ZERO_WIDTH_CHARACTERS: Final = "zero-width characters"
REPLACEMENT_CHARACTERS: Final = "U+FFFD replacement characters"
NORMAL_FORM: Final = "not in normal form C"
HTML_ENTITIES: Final = "HTML entities"
IDENTICAL_SIDES: Final = "identical sides"
LENGTH_RATIO: Final = "length ratio"
DUPLICATE_PAIRS: Final = "duplicate pairs"
KINDS: Final = (
    CONTROL_CHARACTERS,
    ZERO_WIDTH_CHARACTERS,
    REPLACEMENT_CHARACTERS,
    NORMAL_FORM,
    HTML_ENTITIES,
    IDENTICAL_SIDES,
    LENGTH_RATIO,
    DUPLICATE_PAIRS,
)
"""What `clean` remarks on: noted by default, dropped where `drop` says so."""

_CHUNK = 4096


def clean(
    corpus: Corpus,
    normalize: Callable[[list[str]], list[str]],
    *,
    deduplicate: bool = False,
    drop: Collection[str] = (),
    max_length_ratio: float = 9.0,
    labels: Collection[str] = (),
    has_lines: bool = False,
    may_be_empty: bool = False,
) -> Corpus:
    """Normalise the texts of a corpus and drop the rows that have an empty side.

    A side is empty when nothing is left without white space, zero-width and control characters. Everything
    else that is remarkable is kept and noted in the report, unless `drop` says otherwise.

    Args:
        corpus: Aligned columns as read.
        normalize: The normalisation of training and serving: strings to as many strings.
        deduplicate: Drop a pair whose every side stood in an earlier row: the same as `"duplicate pairs"` in
            `drop`. Another translation of a source is not a duplicate.
        drop: Kinds of rows to leave out, members of `KINDS`.
        max_length_ratio: Sides whose lengths in characters differ by more than this factor are remarkable.
        labels: Columns that hold labels, which are names and no text: only white space at their ends goes,
            and nothing about them is remarkable.
        has_lines: Whether a text may have lines, whose ends are nothing remarkable then.
        may_be_empty: Whether it is no error that nothing is left, as of a part of a corpus.

    Returns:
        The cleaned corpus, in the order of the file.

    Raises:
        ValueError: `drop` has an unknown member, or `max_length_ratio` is not above 1.
        DataError: Nothing is left, and `may_be_empty` is false.
    """
    unknown = sorted(set(drop) - set(KINDS))
    if unknown:
        raise ValueError(f"`drop` must hold members of {KINDS}. Received: {unknown}")
    if not max_length_ratio > 1:
        raise ValueError(f"`max_length_ratio` must be above 1. Received: {max_length_ratio}")
    dropping = {*drop, DUPLICATE_PAIRS} if deduplicate else set(drop)
    columns = {
        name: [text.strip() for text in texts] if name in labels else _normalized(texts, normalize)
        for name, texts in corpus.columns.items()
    }
    raw = corpus.columns
    if has_lines:
        raw = {name: [text.replace("\n", " ") for text in texts] for name, texts in raw.items()}
    judge = _Judge(raw, columns, max_length_ratio, labels)
    rows: list[int] = []
    dropped: dict[str, list[int]] = {}
    noted: dict[str, list[int]] = {}
    for row, line in enumerate(corpus.lines):
        reason = judge.emptiness(row)
        kinds = [] if reason else judge.kinds(row)
        reason = reason or next((kind for kind in kinds if kind in dropping), None)
        if reason:
            dropped.setdefault(reason, []).append(int(line))
            continue
        rows.append(row)
        for kind in kinds:
            noted.setdefault(kind, []).append(int(line))
    report = corpus.report.extended(_findings(dropped), _findings(noted))
    if not rows and not may_be_empty:
        reasons = ", ".join(f"{reason} {finding.count:,}" for reason, finding in report.dropped.items())
        raise DataError(f"{corpus.name}: no pairs are left of {report.read:,} rows ({reasons})")
    cleaned = Corpus(columns, corpus.lines, corpus.name, corpus.files, report)
    return cleaned if len(rows) == len(corpus) else cleaned.select(np.array(rows, np.int64))


def _normalized(texts: list[str], normalize: Callable[[list[str]], list[str]]) -> list[str]:
    """The normalised texts, some thousands at a time: the strings of a graph need memory of their own."""
    normal: list[str] = []
    for start in range(0, len(texts), _CHUNK):
        normal += normalize(texts[start : start + _CHUNK])
    if len(normal) != len(texts):
        raise ValueError(
            f"`normalize` must return as many texts as it gets. Received: {len(normal)} for {len(texts)}"
        )
    return normal


def _findings(lines: Mapping[str, list[int]]) -> dict[str, Finding]:
    return {kind: Finding.at(found) for kind, found in sorted(lines.items())}


class _Judge:
    """What is remarkable about a row; asked row by row, in order."""

    def __init__(
        self,
        raw: Mapping[str, list[str]],
        columns: Mapping[str, list[str]],
        max_length_ratio: float,
        labels: Collection[str],
    ) -> None:
        self._columns = columns
        self._raw = [texts for name, texts in raw.items() if name not in labels]
        self._texts = [texts for name, texts in columns.items() if name not in labels]
        self._max_length_ratio = max_length_ratio
        self._seen: set[tuple[str, ...]] = set()

    def emptiness(self, row: int) -> str | None:
        """Which sides are empty, as a reason to drop the row."""
        empty = [name for name, texts in self._columns.items() if is_blank(texts[row])]
        return f"empty {' and '.join(empty)}" if empty else None

    def kinds(self, row: int) -> list[str]:
        """The members of `KINDS` that the row is one of."""
        texts = tuple(column[row] for column in self._texts)
        kinds = [kind for kind, found in self._characters(row, texts).items() if found]
        if len(texts) > 1:
            sizes = [len(text) for text in texts]
            if len(set(texts)) == 1:
                kinds.append(IDENTICAL_SIDES)
            if max(sizes) > self._max_length_ratio * min(sizes):
                kinds.append(LENGTH_RATIO)
        whole = tuple(column[row] for column in self._columns.values())
        if whole in self._seen:
            kinds.append(DUPLICATE_PAIRS)
        self._seen.add(whole)
        return kinds

    def _characters(self, row: int, texts: tuple[str, ...]) -> dict[str, bool]:
        found: dict[str, bool] = {}
        # The normaliser has made spaces of control characters: they are looked for in the raw text.
        if not all(column[row].isprintable() for column in self._raw):
            found[CONTROL_CHARACTERS] = any(CONTROL.search(column[row]) for column in self._raw)
            found[ZERO_WIDTH_CHARACTERS] = any(ZERO_WIDTH.search(text) for text in texts)
        if not all(text.isascii() for text in texts):
            found[REPLACEMENT_CHARACTERS] = any("\ufffd" in text for text in texts)
            found[NORMAL_FORM] = not all(unicodedata.is_normalized("NFC", text) for text in texts)
        if any("&" in text for text in texts):
            found[HTML_ENTITIES] = any(HTML_ENTITY.search(text) for text in texts)
        return found


@dataclass(frozen=True)
class Overlap:
    """How much of one corpus stands in another.

    Attributes:
        train: Name of the corpus that is trained on.
        dev: Name of the one that is measured on.
        size: Rows of `dev`.
        shared: `"source"`, … and `"pair"` to the rows of `dev` whose text, or whole row, is in `train` too.
    """

    train: str
    dev: str
    size: int
    shared: Mapping[str, Finding]

    def to_lines(self) -> list[str]:
        """The report as short lines of plain text; none when nothing is shared."""
        return [
            f"{self.dev}: {finding.count:,} of {self.size:,} rows ({finding.count / self.size:.1%}) have a "
            f"{what} that is in {self.train} too (first: line {finding.first[0]})"
            for what, finding in self.shared.items()
            if finding.count
        ]

    def to_dict(self) -> dict[str, object]:
        """The report as plain values, for JSON."""
        shared = {what: finding.count for what, finding in self.shared.items()}
        return {"train": self.train, "dev": self.dev, "rows": self.size, "shared": shared}


def overlap(train: Corpus, dev: Corpus, labels: Collection[str] = ()) -> Overlap:
    """Look for rows of a dev or test set in a training corpus.

    Args:
        train: A cleaned corpus.
        dev: Another one, cleaned by the same normalisation. Columns that both have are compared.
        labels: Columns that hold labels, which are in both by their nature: compared in whole rows alone.

    Returns:
        The rows of `dev` whose text is in `train`, by column, and those whose whole row is.
    """
    found = shared_rows(train, dev, labels)
    shared = {what: Finding.at(dev.lines[rows].tolist()) for what, rows in found.items()}
    return Overlap(train.name, dev.name, len(dev), shared)


def shared_rows(train: Corpus, dev: Corpus, labels: Collection[str] = ()) -> dict[str, list[int]]:
    """The rows of `dev` that `overlap` finds, by column and as `"pair"`; of parts of `train`, join them."""
    common = [name for name in dev.columns if name in train.columns]
    shared: dict[str, list[int]] = {}
    for name in (name for name in common if name not in labels):
        known = set(train.columns[name])
        shared[name] = [row for row, text in enumerate(dev.columns[name]) if text in known]
    pairs = set(zip(*(train.columns[name] for name in common), strict=True))
    rows = zip(*(dev.columns[name] for name in common), strict=True)
    shared["pair"] = [row for row, texts in enumerate(rows) if texts in pairs]
    return shared


def split_by_hash(
    corpus: Corpus, fraction: float, column: str = "source", key: Callable[[str], str] = str
) -> tuple[Corpus, Corpus]:
    """Carve a dev set from a corpus so that no text of `column` is on both sides.

    The hash of a row's text alone decides: rows with the same source go together, and a row stays where it is
    when others are added or the order changes.

    Args:
        corpus: A cleaned corpus; white space does not count.
        fraction: Expected share of the distinct texts that is carved, above 0 and below 1.
        column: The column whose text decides.
        key: What of that text decides; by default all of it.

    Returns:
        The larger corpus that remains and the carved one.

    Raises:
        ValueError: `fraction` or `column` is wrong.
        DataError: One side would have no rows.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"`fraction` must be above 0 and below 1. Received: {fraction}")
    if column not in corpus.columns:
        raise ValueError(f"`column` must be one of {sorted(corpus.columns)}. Received: {column!r}")
    carved = carved_rows(corpus.columns[column], fraction, key)
    if carved.all() or not carved.any():
        raise DataError(
            f"{corpus.name}: a fraction of {fraction} of {len(corpus):,} rows leaves one side without a row"
        )
    return part_of(corpus, ~carved, "rest"), part_of(corpus, carved, "carved")


def carved_rows(
    texts: Collection[str], fraction: float, key: Callable[[str], str] = str
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of some texts `split_by_hash` carves, bool `[texts]`."""
    bound = int(Fraction(fraction) * 2**64)
    return np.array([_hash(key(text)) < bound for text in texts], bool)


def part_of(corpus: Corpus, chosen: np.ndarray[Any, np.dtype[np.bool_]], name: str) -> Corpus:
    """One side of a corpus that was carved: `"rest"` or `"carved"`."""
    other = "carved out" if name == "rest" else "left in the rest"
    report = corpus.report.extended({other: Finding.at(corpus.lines[~chosen].tolist())})
    return corpus.select(np.flatnonzero(chosen), report)


def _hash(text: str) -> int:
    key = " ".join(text.split()).encode("utf-8")
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
