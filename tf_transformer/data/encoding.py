"""A corpus as tensors: encoded once, in batches, and cut to length before anything is padded."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.data.report import CorpusReport, Finding
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import DataError
from tf_transformer.presets import UNKNOWN_ID

IntArray = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Column = Any
"""Ragged ids of rows, `tf.RaggedTensor`, or a `tf.Tensor` whose rows have one size."""
Encoder = Callable[[tf.Tensor], Column]

_LINES_AT_ONCE = 1024  # tokenisers are 10 to 50 times slower line by line
_SEGMENTED = 1.5
_USUAL_MOST = 100


@dataclass(frozen=True)
class EncodedCorpus:
    """Aligned columns of one corpus or of several merged ones.

    Attributes:
        columns: Name of a column to its ids, ragged int32 `[rows, None]`, or to what has one size in every
            row, such as labels `[rows]` or images `[rows, height, width, channels]`.
        lengths: Name of each ragged column to the positions that each row takes in the model, int64 `[rows]`:
            the ids, and one more where the model's input gets a START (the labels an END) at padding time.
        corpora: For each row the index into `reports`, int64 `[rows]`.
        lines: For each row its line number in its corpus, int64 `[rows]`.
        reports: What happened to each corpus.
    """

    columns: dict[str, Column]
    lengths: dict[str, IntArray]
    corpora: IntArray
    lines: IntArray
    reports: tuple[CorpusReport, ...]

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def sizes(self) -> list[int]:
        """How many rows each corpus has."""
        return [int(size) for size in np.bincount(self.corpora, minlength=len(self.reports))]

    def where(self, rows: Collection[int] | IntArray) -> list[str]:
        """Name and line number of rows, such as `train.en:17`, to find a bad batch in the files."""
        return [f"{self.reports[self.corpora[row]].name}:{self.lines[row]}" for row in rows]


def encode(
    corpus: Corpus,
    encoders: Mapping[str, Encoder],
    *,
    shifted: Collection[str] = ("target",),
    threads: int | None = None,
) -> EncodedCorpus:
    """Turn the texts of a corpus into ids, or into labels.

    Args:
        corpus: A cleaned corpus.
        encoders: Name of a column to its encoder: strings `[batch]` to ragged int32 `[batch, None]`, or to
            labels, int32 `[batch]`.
        shifted: Columns whose rows take one position more than they have ids, for START or END.
        threads: Batches of texts that are encoded at a time; one for each core by default.

    Returns:
        The encoded corpus, row for row. Its report notes rows with unknown tokens.

    Raises:
        TypeError: An encoder returns something else than integers.
        ValueError: An encoder has no column, or returns another number of rows than it got.
    """
    columns: dict[str, Column] = {}
    lengths: dict[str, IntArray] = {}
    noted: dict[str, Finding] = {}
    for name, encoder in encoders.items():
        if name not in corpus.columns:
            raise ValueError(f"`encoders` must be for {sorted(corpus.columns)}. Received: {name!r}")
        values, sizes = encode_column(name, corpus.columns[name], encoder, threads)
        if sizes is None:
            columns[name] = _dense(values)
            continue
        columns[name] = _ragged(values, sizes)
        lengths[name] = sizes + (name in shifted)
        unknown = _rows_of(values == UNKNOWN_ID, sizes)
        noted[f"unknown tokens in {name}"] = Finding.at(corpus.lines[unknown].tolist())
    zeros = np.zeros(len(corpus), np.int64)
    return EncodedCorpus(columns, lengths, zeros, corpus.lines, (corpus.report.extended(noted=noted),))


def encode_column(
    name: str, texts: Sequence[str], encoder: Encoder, threads: int | None = None
) -> tuple[np.ndarray[Any, np.dtype[np.int32]], IntArray | None]:
    """The values of a column, and how many each row has; None where it is one each.

    Args:
        name: The column, for messages.
        texts: Its texts.
        encoder: See `encode`; so is what is raised.
        threads: See `encode`.
    """

    def ids_of(start: int) -> tuple[np.ndarray[Any, np.dtype[np.int32]], IntArray | None]:
        batch = texts[start : start + _LINES_AT_ONCE]
        ids = encoder(tf.constant(batch, tf.string))
        is_ragged = isinstance(ids, tf.RaggedTensor)
        is_right = is_ragged or (tf.is_tensor(ids) and ids.shape.rank == 1)
        if not is_right or not ids.dtype.is_integer:
            rule = "must return ragged integers, or one integer a text"
            raise TypeError(f"The encoder of {name!r} {rule}. Received: {_kind(ids)}")
        values = (ids.flat_values if is_ragged else ids).numpy().astype(np.int32)
        sizes = ids.row_lengths().numpy().astype(np.int64) if is_ragged else None
        rows = len(values) if sizes is None else len(sizes)
        if rows != len(batch):
            raise ValueError(
                f"The encoder of {name!r} must return a row for each text. "
                f"Received: {rows} rows for {len(batch)} texts"
            )
        return values, sizes

    # The operations of a tokenizer run on one core each; several batches at a time use the others.
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        parts = list(pool.map(ids_of, range(0, len(texts), _LINES_AT_ONCE)))
    values = np.concatenate([np.zeros(0, np.int32), *(part[0] for part in parts)])
    sizes = [part[1] for part in parts if part[1] is not None]
    if parts and not sizes:
        return values, None
    return values, np.concatenate([np.zeros(0, np.int64), *sizes])


def _kind(ids: Any) -> str:
    return f"{type(ids).__name__} of {ids.dtype.name}" if hasattr(ids, "dtype") else type(ids).__name__


def _ragged(values: np.ndarray[Any, np.dtype[np.int32]], sizes: IntArray) -> tf.RaggedTensor:
    splits = np.concatenate([[0], np.cumsum(sizes)])
    with tf.device("CPU:0"):  # batches are gathered there, whatever the model runs on
        return tf.RaggedTensor.from_row_splits(tf.constant(values), tf.constant(splits), validate=False)


def _dense(values: np.ndarray[Any, Any]) -> tf.Tensor:
    with tf.device("CPU:0"):
        return tf.constant(values)


def _rows_of(found: Flags, sizes: IntArray) -> IntArray:
    """The rows that a flag of some of their values stands in."""
    return np.unique(np.repeat(np.arange(len(sizes)), sizes)[found])


def merge(corpora: Sequence[EncodedCorpus]) -> EncodedCorpus:
    """Join encoded corpora, each row keeping its corpus and its line number.

    Args:
        corpora: Encoded corpora with the same columns.

    Returns:
        One corpus with the rows of all, in order.

    Raises:
        ValueError: There are none, or their columns differ.
    """
    names = [sorted(corpus.columns) for corpus in corpora]
    if not names or any(other != names[0] for other in names):
        raise ValueError(f"`corpora` must be one or more with the same columns. Received: {names}")
    if len(corpora) == 1:
        return corpora[0]
    first = np.cumsum([0] + [len(corpus.reports) for corpus in corpora])
    with tf.device("CPU:0"):
        columns = {name: tf.concat([c.columns[name] for c in corpora], axis=0) for name in corpora[0].columns}
    return EncodedCorpus(
        columns,
        {name: np.concatenate([c.lengths[name] for c in corpora]) for name in corpora[0].lengths},
        np.concatenate([c.corpora + offset for c, offset in zip(corpora, first, strict=False)]),
        np.concatenate([c.lines for c in corpora]),
        tuple(report for c in corpora for report in c.reports),
    )


def limit(
    encoded: EncodedCorpus,
    max_lengths: Mapping[str, int],
    on_long: Literal["drop", "truncate"] = "drop",
    *,
    keep_last: Collection[str] = ("source",),
    may_be_empty: bool = False,
) -> EncodedCorpus:
    """Apply the limits of length, before anything is padded.

    Args:
        encoded: An encoded corpus.
        max_lengths: Name of a column to the positions that a row may take; columns left out have no limit.
        on_long: `"drop"` leaves out a row that is too long on any side, or without an id on one;
            `"truncate"` cuts each side that is too long and keeps every row.
        keep_last: Columns whose last id is an END, which stays the last one of a row that is cut.
        may_be_empty: Whether it is no error that nothing is left, as of a part of a corpus.

    Returns:
        The limited corpus; its reports count by corpus and side.

    Raises:
        ValueError: An argument is wrong.
        DataError: Nothing is left, and `may_be_empty` is false.
    """
    if on_long not in ("drop", "truncate"):
        raise ValueError(f"`on_long` must be 'drop' or 'truncate'. Received: {on_long!r}")
    for name, most in max_lengths.items():
        if name not in encoded.lengths:
            raise ValueError(f"`max_lengths` must be of {sorted(encoded.lengths)}. Received: {name!r}")
        whole_number(f"max_lengths[{name!r}]", most, 2)
    sizes = {name: encoded.columns[name].row_lengths().numpy() for name in encoded.lengths}
    too_long = {name: encoded.lengths[name] > most for name, most in max_lengths.items()}
    long = {f"{name} over {max_lengths[name]} positions": found for name, found in too_long.items()}
    if on_long == "drop":
        empty = {f"no tokens in {name}": size == 0 for name, size in sizes.items()}
        return _without(encoded, empty | long, may_be_empty)
    columns, lengths = dict(encoded.columns), dict(encoded.lengths)
    for name, found in too_long.items():
        if found.any():
            extra = encoded.lengths[name] - sizes[name]
            most = np.minimum(sizes[name], max_lengths[name] - extra)
            columns[name] = _truncated(encoded.columns[name], sizes[name], most, name in keep_last)
            lengths[name] = most + extra
    cut = {f"truncated: {what}": found for what, found in long.items()}
    return replace(encoded, columns=columns, lengths=lengths, reports=_reports(encoded, {}, cut))


def _truncated(ids: tf.RaggedTensor, sizes: IntArray, most: IntArray, keep_last: bool) -> tf.RaggedTensor:
    values = ids.flat_values.numpy()
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = np.arange(len(values)) - starts
    keep = place < np.repeat(most, sizes)
    if keep_last:
        last = np.cumsum(sizes)[sizes > 0] - 1
        values = values.copy()
        values[(np.cumsum(sizes) - sizes + most)[sizes > 0] - 1] = values[last]
    return _ragged(values[keep], most)


def _without(encoded: EncodedCorpus, reasons: Mapping[str, Flags], may_be_empty: bool) -> EncodedCorpus:
    """The corpus without rows that a reason speaks against; a row counts under the first one."""
    kept = np.ones(len(encoded), bool)
    first: dict[str, Flags] = {}
    for reason, found in reasons.items():
        first[reason] = found & kept
        kept &= ~found
    if kept.all():
        return encoded
    if not kept.any() and not may_be_empty:
        counts = ", ".join(f"{reason}: {found.sum():,}" for reason, found in first.items() if found.any())
        names = ", ".join(report.name for report in encoded.reports)
        raise DataError(f"{names}: no rows are left of {len(encoded):,} ({counts})")
    rows = np.flatnonzero(kept)
    with tf.device("CPU:0"):
        columns = {name: tf.gather(ids, rows) for name, ids in encoded.columns.items()}
    return EncodedCorpus(
        columns,
        {name: lengths[rows] for name, lengths in encoded.lengths.items()},
        encoded.corpora[rows],
        encoded.lines[rows],
        _reports(encoded, first, {}),
    )


def _reports(
    encoded: EncodedCorpus, dropped: Mapping[str, Flags], noted: Mapping[str, Flags]
) -> tuple[CorpusReport, ...]:
    """The report of each corpus and what was found in its rows."""

    def of(index: int, found: Mapping[str, Flags]) -> dict[str, Finding]:
        return {
            kind: Finding.at(encoded.lines[rows & (encoded.corpora == index)].tolist())
            for kind, rows in found.items()
        }

    return tuple(
        report.extended(of(index, dropped), of(index, noted)) for index, report in enumerate(encoded.reports)
    )


def token_warnings(
    encoded: EncodedCorpus, *, ends: Collection[str] = ("source", "target")
) -> tuple[str, ...]:
    """Warn where a line is about one token: a tokenizer that splits at spaces has met text without any.

    Args:
        encoded: An encoded corpus.
        ends: Columns whose `lengths` count a START or END, which is no token of the text.

    Returns:
        One sentence a column that looks wrong.
    """
    warnings = []
    for name, lengths in encoded.lengths.items():
        # One endless line must not hide what the others are like.
        mean = float(np.mean(np.minimum(lengths, _USUAL_MOST))) - (name in ends) if len(lengths) else np.inf
        if mean <= _SEGMENTED:
            warnings.append(
                f"{name} has {mean:.2f} tokens a line: whole lines have become words. Where text has no "
                "spaces, use the tokenizer sentencepiece, characters or bytes"
            )
    return tuple(warnings)
