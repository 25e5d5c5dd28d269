"""Which rows make a batch where all are equally large: so many rows, as a pure function of seed and epoch."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tf_transformer.arguments import whole_number
from tf_transformer.data.batching import Batch
from tf_transformer.data.epoch_rows import rows_of_epoch
from tf_transformer.data.plan_arguments import corpus_parts
from tf_transformer.data.random_words import random_words
from tf_transformer.data.shapes import IntArray

_ALGORITHM = 1
"""Counted up whenever the same arguments give other batches than before: runs that continue must notice."""


class RowPlan:
    """Batches of every epoch: the rows in an order that is drawn anew, cut into equal parts.

    The batches of an epoch differ by at most one row, and none has more than `batch_size`. Nothing is padded.
    Otherwise like `BatchPlan`.

    Args:
        num_rows: Rows of the corpus.
        batch_size: Most rows of a batch.
        seed: Seed of the order, at least 0.
        corpora: See `BatchPlan`.
        weights: See `BatchPlan`.

    Raises:
        TypeError: A number is none, or not whole.
        ValueError: An argument is wrong.
    """

    columns: tuple[str, ...] = ()

    def __init__(
        self,
        num_rows: int,
        batch_size: int,
        *,
        seed: int = 0,
        corpora: IntArray | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.num_rows = whole_number("num_rows", num_rows, 1)
        self.batch_size = whole_number("batch_size", batch_size, 1)
        self.seed = whole_number("seed", seed, 0)
        self._parts = corpus_parts(self.num_rows, corpora, weights)
        self._recent: dict[int, list[Batch]] = {}

    @property
    def batch_tokens(self) -> int:
        """Rows of a batch, under the name that other plans have for it."""
        return self.batch_size

    @property
    def shapes(self) -> list[dict[str, int]]:
        """The shapes that batches may be padded to: none of them is."""
        return [{}]

    def epoch(self, epoch: int) -> list[Batch]:
        """The batches of an epoch, in the order of training."""
        if epoch not in self._recent:
            # One assignment: the input pipeline's thread may ask at the same time.
            self._recent = {**dict(list(self._recent.items())[-2:]), epoch: self._made(epoch)}
        return self._recent[epoch]

    def num_batches(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return len(self.epoch(epoch))

    def padding(self, epoch: int = 0) -> dict[str, float]:
        """The share of padding by column: there is none."""
        return {}

    def digest(self) -> str:
        """What tells one plan from another: equal digests, equal batches in every epoch."""
        parts = [(len(rows), str(weight)) for rows, weight in self._parts]
        facts: Any = ("rows", _ALGORITHM, self.num_rows, self.batch_size, self.seed, parts)
        digest = hashlib.sha256(repr(facts).encode())
        for rows, _ in self._parts:
            digest.update(np.ascontiguousarray(rows, np.int64).tobytes())
        return digest.hexdigest()

    def _made(self, epoch: int) -> list[Batch]:
        rows = rows_of_epoch(self._parts, self.seed, epoch)
        if not len(rows):
            return []
        order = rows[np.argsort(random_words(self.seed, "rows", epoch, len(rows)), kind="stable")]
        count = -(-len(order) // self.batch_size)
        return [Batch(part, {}, len(part)) for part in np.array_split(order, count)]
