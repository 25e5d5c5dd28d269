"""Pieces of long texts: windows that a model can take whole, in training and in evaluation.

A window is a run of at most L labels of one text. The model gets, for each of them, the start token and the
labels before it in the window; so no window depends on what is outside of it.

- In training the cuts between windows lie elsewhere in each epoch, and each label is in one window.
- In evaluation windows begin every S labels, and each label counts once: in the first window that has it.
  Behind the first L labels of a text a label is predicted from L - S labels at least, and from less than L.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.data.batching import Batch
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.plan_arguments import corpus_parts
from tf_transformer.data.random_words import random_words
from tf_transformer.data.shapes import IntArray

_ALGORITHM = 1
"""Counted up whenever the same arguments give other batches than before: runs that continue must notice."""
_COLUMN = "text"


@dataclass(frozen=True)
class WindowBatch(Batch):
    """Windows that are padded together; `rows` are the texts that they are of.

    Attributes:
        starts: For each window its first label's place in the text, int64 `[windows]`.
        sizes: For each window its number of labels, int64 `[windows]`.
    """

    starts: IntArray
    sizes: IntArray


class WindowPlan:
    """Batches of windows for every epoch, a pure function of lengths, seed and epoch; like `BatchPlan`.

    Args:
        lengths: The number of labels of each text, integer `[rows]`, at least 1.
        window: L, the most labels of a window.
        batch_tokens: The most labels of a batch; one window at least.
        seed: Seed of cuts and order, at least 0.
        corpora: See `BatchPlan`.
        weights: See `BatchPlan`; a fraction takes so many windows of a corpus.

    Raises:
        TypeError: A number is none, or not whole.
        ValueError: An argument is wrong.
    """

    columns = (_COLUMN,)

    def __init__(
        self,
        lengths: IntArray,
        window: int,
        batch_tokens: int,
        *,
        seed: int = 0,
        corpora: IntArray | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self._lengths = _checked(lengths)
        self.window = whole_number("window", window, 1)
        self.batch_tokens = whole_number("batch_tokens", batch_tokens, 1)
        self.seed = whole_number("seed", seed, 0)
        self._parts = corpus_parts(len(self._lengths), corpora, weights)
        self._recent: dict[int, list[WindowBatch]] = {}

    @property
    def num_rows(self) -> int:
        """Texts that the plan is for."""
        return len(self._lengths)

    @property
    def shapes(self) -> list[dict[str, int]]:
        """The one shape that all batches are padded to."""
        return [{_COLUMN: self.window}]

    def epoch(self, epoch: int) -> list[WindowBatch]:
        """The batches of an epoch, in the order of training; any epoch costs the same."""
        if epoch not in self._recent:
            batches = self._batches(epoch)
            # One assignment: the input pipeline's thread may ask at the same time.
            self._recent = {**dict(list(self._recent.items())[-2:]), epoch: batches}
        return self._recent[epoch]

    def num_batches(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return len(self.epoch(epoch))

    def padding(self, epoch: int = 0) -> dict[str, float]:
        """The share of padding among all positions of an epoch."""
        batches = self.epoch(epoch)
        positions = self.window * sum(len(batch.rows) for batch in batches)
        return {_COLUMN: 1 - sum(batch.tokens for batch in batches) / positions}

    def digest(self) -> str:
        """What tells one plan from another: equal digests, equal batches in every epoch."""
        parts = [(len(rows), str(weight)) for rows, weight in self._parts]
        facts = ("windows", _ALGORITHM, self.window, self.batch_tokens, self.seed, parts)
        digest = hashlib.sha256(repr(facts).encode())
        for lengths in (self._lengths, *(rows for rows, _ in self._parts)):
            digest.update(np.ascontiguousarray(lengths, np.int64).tobytes())
        return digest.hexdigest()

    def _batches(self, epoch: int) -> list[WindowBatch]:
        parts = [self._of_corpus(index, epoch * self._parts[index][1]) for index in range(len(self._parts))]
        windows = np.concatenate(parts)
        order = np.argsort(random_words(self.seed, "windows", epoch, len(windows)), kind="stable")
        if not len(windows):
            return []
        per_batch = max(1, self.batch_tokens // self.window)
        # Batches of even size: a small last one would weigh its labels more.
        groups = np.array_split(windows[order], -(-len(windows) // per_batch))
        return [
            WindowBatch(rows, {_COLUMN: self.window}, int(sizes.sum()), starts, sizes)
            for rows, starts, sizes in (group.T for group in groups)
        ]

    def _of_corpus(self, index: int, begin: Fraction) -> IntArray:
        """The windows `[windows, 3]` of one corpus in an epoch: passes over it from number `begin` on."""
        rows, weight = self._parts[index]
        end, chosen = begin + weight, [np.zeros((0, 3), np.int64)]
        for number in range(int(begin), -int(-end // 1)):
            windows = self._pass(rows, index, number)
            first, last = max(begin - number, Fraction(0)), min(end - number, Fraction(1))
            chosen.append(windows[int(first * len(windows)) : int(last * len(windows))])
        return np.concatenate(chosen)

    def _pass(self, rows: IntArray, index: int, number: int) -> IntArray:
        """All windows of texts, cut at places of this pass, in a random order: text, start, size."""
        words = random_words(self.seed, f"cuts {index}", number, len(rows))
        lengths = self._lengths[rows]
        # A short text stays whole.
        shifts = np.where(lengths > self.window, words % np.uint64(self.window), 0).astype(np.int64)
        counts = -(-(lengths - shifts) // self.window) + (shifts > 0)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        text, shift, length = (np.repeat(values, counts) for values in (rows, shifts, lengths))
        # With a shift, the first window is what lies before it.
        edge = shift + self.window * (place - (shift > 0))
        starts, ends = np.maximum(edge, 0), np.minimum(edge + self.window, length)
        windows = np.stack([text, starts, ends - starts], axis=1)
        order = np.argsort(random_words(self.seed, f"pass {index}", number, len(windows)), kind="stable")
        return windows[order]


@dataclass(frozen=True)
class EvaluationWindows(Sequence[Any]):
    """Batches `(inputs, labels)` in which each label of each text counts once; longest windows first.

    Attributes:
        encoded: The texts, with the column `text`.
        batches: Which windows make a batch, each with the place of its first label that counts.
        assemble: Makes a batch of rows of labels: keywords `text_ids` and `text_length`.
    """

    encoded: EncodedCorpus
    batches: Sequence[tuple[WindowBatch, IntArray]]
    assemble: Callable[..., tuple[dict[str, tf.Tensor], tf.Tensor]]

    def __len__(self) -> int:
        return len(self.batches)

    def count(self, label: int) -> int:
        """How many of all labels, each counted once, are this one."""
        return int(np.count_nonzero(self.encoded.columns[_COLUMN].flat_values == label))

    def __getitem__(self, index: Any) -> Any:
        batch, counted = self.batches[index]
        length = int(batch.sizes.max())
        windows = slices_of(self.encoded.columns[_COLUMN], batch.rows, batch.starts, batch.sizes)
        inputs, labels = self.assemble(text_ids=windows, text_length=length)
        counts = tf.range(length, dtype=tf.int64) >= tf.constant(counted)[:, None]  # [windows, L]
        return inputs, tf.where(counts, labels, 0)


def evaluation_windows(
    encoded: EncodedCorpus,
    window: int,
    stride: int,
    batch_tokens: int,
    assemble: Callable[..., tuple[dict[str, tf.Tensor], tf.Tensor]],
) -> EvaluationWindows:
    """The batches that evaluate texts of any length exactly.

    Args:
        encoded: The texts, with the column `text`: all labels of each, in order.
        window: L, the most labels of a window.
        stride: S, from 1 to L: the labels from one window's first to the next one's.
        batch_tokens: The most positions of a batch, padding included; one window at least.
        assemble: See `EvaluationWindows`.

    Returns:
        The batches, whose labels are 0 where they do not count.

    Raises:
        TypeError: A size is no whole number.
        ValueError: A size is out of its range.
    """
    window = whole_number("window", window, 1)
    stride = whole_number("stride", stride, 1, window)
    batch_tokens = whole_number("batch_tokens", batch_tokens, 1)
    lengths = encoded.lengths[_COLUMN]
    counts = 1 + np.maximum(-(-(lengths - window) // stride), 0)
    rows = np.repeat(np.arange(len(lengths)), counts)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = place * stride
    sizes = np.minimum(window, lengths[rows] - starts)
    counted = np.where(place == 0, 0, window - stride)
    order = np.argsort(-sizes, kind="stable")
    batches = []
    for chosen in _runs(order, sizes, batch_tokens):
        lengths_of = {_COLUMN: int(sizes[chosen].max())}
        tokens = int((sizes - counted)[chosen].sum())
        batch = WindowBatch(rows[chosen], lengths_of, tokens, starts[chosen], sizes[chosen])
        batches.append((batch, counted[chosen]))
    return EvaluationWindows(encoded, tuple(batches), assemble)


def _runs(order: IntArray, sizes: IntArray, batch_tokens: int) -> Iterator[IntArray]:
    """Runs of windows, longest first, of at most so many positions."""
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // int(sizes[order[start]]))
        yield order[start : start + size]
        start += size


def slices_of(ids: tf.RaggedTensor, rows: Any, starts: Any, sizes: Any) -> tf.RaggedTensor:
    """Slices of rows.

    Args:
        ids: Ragged `[rows, None]`.
        rows: Which row each slice is of, integer `[slices]`.
        starts: Where in the row it begins, int64 `[slices]`.
        sizes: How long it is, int64 `[slices]`.

    Returns:
        Ragged `[slices, None]`.
    """
    first = tf.gather(ids.row_starts(), rows) + starts
    return tf.gather(ids.flat_values, tf.ragged.range(first, first + sizes))


def _checked(lengths: Any) -> IntArray:
    values = np.asarray(lengths)
    if values.ndim != 1 or values.dtype.kind not in "iu" or not len(values) or values.min() < 1:
        raise ValueError(
            "`lengths` must be whole numbers, at least 1, one a text. "
            f"Received: {values.dtype} of shape {values.shape}"
        )
    return values.astype(np.int64)
