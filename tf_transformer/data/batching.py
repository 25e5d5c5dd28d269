"""Which rows make a batch: by a budget of real tokens, as a pure function of seed and epoch."""

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tf_transformer.data.epoch_rows import rows_of_epoch
from tf_transformer.data.plan_arguments import check_plan, corpus_parts
from tf_transformer.data.random_words import Words, random_words
from tf_transformer.data.shapes import SECOND_WEIGHT, IntArray, ShapeGrid, stratum_edges

_ALGORITHM = 2
"""Counted up whenever the same arguments give other batches than before: runs that continue must notice."""
_ROWS_TRIED = 100_000
_STRATA_TRIED: Final = (1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 15, 17, 20, 25, 32, 40, 50, 64, 80)
_BLUR = 2.0
"""Noise on the second length by which rows are sorted: 1 breaks ties at random, more mixes neighbours."""
_USUAL = 0.9
"""Rows whose ratio of lengths is above this quantile are sorted as if their first length were longer."""
_MANY = 11
"""Batches of an epoch from which on one of them may be smaller than the others."""
_TRIALS: Final = [(flips, offset) for flips in range(4) for offset in (0.0, 0.33, 0.67)]
_ROUND = 32
"""Rows of a batch are rounded to so many steps of a power of two: as many as 256 to a multiple of 8.

Kernels that a device makes for each size are then made less often.
"""
_SPIKE = 4.0
"""A batch may take this many times the positions of an average batch on any side, padding included."""


@dataclass(frozen=True)
class Batch:
    """Rows that are padded together.

    Attributes:
        rows: Row numbers in the corpus, int64 `[rows]`.
        lengths: Name of a column to the positions that its rows are padded to.
        tokens: Real tokens of the budget's column (or rows, where rows are counted).
    """

    rows: IntArray
    lengths: dict[str, int]
    tokens: int


class BatchPlan:
    """Batches of every epoch, from lengths alone.

    Rows are sorted by length (in strata of the budget's column, by the other column within one), so that a
    batch needs little padding, and cut so that all batches of an epoch hold nearly the same number of real
    tokens, never more than asked for. Ties, the directions of sorting and the order of the batches are drawn
    anew each epoch. Batches are padded to shapes of a fixed grid. Two columns at most.

    Args:
        lengths: Name of a column to the positions each row takes in the model, integer `[rows]`.
        batch_tokens: Real tokens (or rows, see `budget_column`) of a batch; a longer row is one of its own.
        budget_column: The column whose tokens are counted; None counts rows.
        seed: Seed of the order, at least 0.
        corpora: For each row the index of its corpus; all 0 by default.
        weights: For each corpus how often it occurs in an epoch; a fraction takes another part of it each
            epoch, so that over many epochs all rows occur equally often. All 1 by default.
        max_shapes: Most different padded shapes over all epochs.

    Raises:
        TypeError: A number is none, or not whole.
        ValueError: An argument is wrong.
    """

    def __init__(
        self,
        lengths: Mapping[str, IntArray],
        batch_tokens: int,
        *,
        budget_column: str | None = "target",
        seed: int = 0,
        corpora: IntArray | None = None,
        weights: Sequence[float] | None = None,
        max_shapes: int = 80,
    ) -> None:
        check_plan(lengths, batch_tokens, budget_column, seed, max_shapes)
        self.columns = tuple(lengths)
        self.batch_tokens = int(batch_tokens)
        self.seed = int(seed)
        first = budget_column or self.columns[0]
        others = [name for name in self.columns if name != first]
        self._order = (first, *others)
        self._counts_rows = budget_column is None
        self._take(lengths)
        self._greatest = int(self._first.max()), int(self._second.max())
        self._parts = corpus_parts(len(self._first), corpora, weights)
        self._edges, self._grid = self._best_strata(max_shapes)

    def on(self, lengths: Mapping[str, IntArray]) -> "BatchPlan":
        """A plan in the same shapes for other rows, none of them longer than the longest of this one.

        Args:
            lengths: As for the constructor; all rows occur once an epoch.
        """
        other = copy.copy(self)
        other._take(lengths)
        other._parts = corpus_parts(other.num_rows, None, None)
        return other

    def _take(self, lengths: Mapping[str, IntArray]) -> None:
        self._first, *others = (np.asarray(lengths[name], np.int64) for name in self._order)
        self._second = others[0] if others else np.zeros_like(self._first)
        self._level = _levels(self._first, self._second)
        self._cost = np.ones_like(self._first) if self._counts_rows else self._first
        self._recent: dict[int, list[Batch]] = {}

    @property
    def num_rows(self) -> int:
        """Rows of the corpus that the plan is for."""
        return len(self._first)

    @property
    def shapes(self) -> list[dict[str, int]]:
        """All shapes that batches may be padded to."""
        return [dict(zip(self._order, map(int, shape), strict=False)) for shape in self._grid.shapes]

    def epoch(self, epoch: int) -> list[Batch]:
        """The batches of an epoch, in the order of training.

        Args:
            epoch: Number of the epoch, from 0; any epoch costs the same.

        Returns:
            The batches, the same for the same arguments always.
        """
        if epoch not in self._recent:
            batches = self._shuffled(epoch, rows_of_epoch(self._parts, self.seed, epoch))
            # One assignment: the input pipeline's thread may ask at the same time.
            self._recent = {**dict(list(self._recent.items())[-2:]), epoch: batches}
        return self._recent[epoch]

    def digest(self) -> str:
        """What tells one plan from another: equal digests, equal batches in every epoch."""
        parts = [(len(rows), str(weight)) for rows, weight in self._parts]
        digest = hashlib.sha256(repr((_ALGORITHM, self.batch_tokens, self.seed, self._order, parts)).encode())
        for lengths in (self._first, self._second, *(rows for rows, _ in self._parts)):
            digest.update(np.ascontiguousarray(lengths, np.int64).tobytes())
        return digest.hexdigest()

    def num_batches(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return len(self.epoch(epoch))

    def padding(self, epoch: int = 0) -> dict[str, float]:
        """The share of padding among all positions of an epoch, by column."""
        batches = self.epoch(epoch)
        shares = {}
        for name, lengths in zip(self._order, (self._first, self._second), strict=False):
            real = sum(int(lengths[batch.rows].sum()) for batch in batches)
            shares[name] = 1 - real / sum(len(batch.rows) * batch.lengths[name] for batch in batches)
        return shares

    def _best_strata(self, max_shapes: int) -> tuple[IntArray, ShapeGrid]:
        """The number of strata that pads least, tried on some rows where there are very many."""
        rows = np.arange(len(self._first))
        budget = float(self.batch_tokens)
        if len(rows) > _ROWS_TRIED:
            rows = np.argsort(random_words(self.seed, "sample", 0, len(rows)), kind="stable")[:_ROWS_TRIED]
            budget = max(budget * len(rows) / len(self._first), 1.0)
        best: tuple[float, IntArray] | None = None
        for num_strata in _STRATA_TRIED:
            edges = stratum_edges(self._level, num_strata)
            if num_strata > max_shapes or (best and len(edges) < num_strata):
                break
            share = self._padding_share(edges, rows, budget, max_shapes)
            if best is None or share < best[0]:
                best = share, edges
        assert best is not None
        maxima = self._maxima(best[1], rows, budget, _TRIALS)
        return best[1], ShapeGrid(best[1], *maxima, self._greatest, max_shapes)

    def _padding_share(self, edges: IntArray, rows: IntArray, budget: float, max_shapes: int) -> float:
        """The share of padding that strata lead to: of the worse column, the second one at a discount."""
        trials = _TRIALS[::7]
        first, second, sizes = self._maxima(edges, rows, budget, trials)
        shapes = ShapeGrid(edges, first, second, sizes, self._greatest, max_shapes).cover(first, second)
        real = len(trials) * np.array([self._first[rows].sum(), self._second[rows].sum()])
        shares = 1 - real / np.maximum(sizes @ shapes, 1)
        return float(max(shares[0], SECOND_WEIGHT * shares[1] if self._greatest[1] else 0.0))

    def _maxima(
        self, edges: IntArray, rows: IntArray, budget: float, trials: Sequence[tuple[int, float]]
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Greatest lengths and sizes of the batches that come of some directions and offsets."""
        first, second, sizes = [], [], []
        for number, (flips, offset) in enumerate(trials):
            noise = random_words(self.seed, "trial", number, len(rows))
            order, starts = self._cut(edges, rows, budget, noise, flips, offset)
            first.append(np.maximum.reduceat(self._first[order], starts))
            second.append(np.maximum.reduceat(self._second[order], starts))
            sizes.append(np.diff(np.append(starts, len(order))))
        return np.concatenate(first), np.concatenate(second), np.concatenate(sizes)

    def _shuffled(self, epoch: int, rows: IntArray) -> list[Batch]:
        if not len(rows):
            return []
        noise = random_words(self.seed, "rows", epoch, len(rows) + 2)
        order, starts = self._cut(
            self._edges, rows, float(self.batch_tokens), noise[2:], int(noise[0]) & 3, int(noise[1]) / 2**64
        )
        first = np.maximum.reduceat(self._first[order], starts)
        second = np.maximum.reduceat(self._second[order], starts)
        shapes = self._grid.cover(first, second).tolist()
        tokens = np.add.reduceat(self._cost[order], starts)
        groups = np.split(order, starts[1:])
        return [
            Batch(groups[at], dict(zip(self._order, shapes[at], strict=False)), int(tokens[at]))
            for at in np.argsort(random_words(self.seed, "batches", epoch, len(starts)), kind="stable")
        ]

    def _cut(
        self, edges: IntArray, rows: IntArray, budget: float, noise: Words, flips: int, offset: float
    ) -> tuple[IntArray, IntArray]:
        """The rows in the order of their batches, and where each batch starts."""
        strata = np.searchsorted(edges, self._level[rows])
        key = self._second[rows] + noise / 2**64 * _BLUR
        # The second length rises in one stratum and falls in the next: batches across an edge are alike, too.
        snake = np.where((strata + flips) % 2 == 1, key, -key)
        order = rows[np.lexsort((snake, strata if flips & 2 else -strata))]
        over = self._cost[order] > budget
        order = np.concatenate([order[~over], order[over]])
        return order, self._starts(order, budget, int(over.sum()), offset)

    def _starts(self, order: IntArray, budget: float, num_alone: int, offset: float) -> IntArray:
        """Cut rows into runs of even size within the budget; the last `num_alone` rows stand alone.

        The first of many runs is up to a half smaller, which moves all cuts from epoch to epoch.
        """
        end = len(order) - num_alone
        total = np.concatenate([[0], np.cumsum(self._cost[order[:end]])])
        limits = [
            _SPIKE * budget * max(1.0, float(lengths.sum()) / float(self._cost.sum()))
            for lengths in (self._first, self._second)
        ]
        starts, start = [], 0
        while start < end:
            starts.append(start)
            left = total[end] - total[start]
            even = left / np.ceil(left / budget)
            if start == 0 and left > _MANY * budget:
                even *= 1 - offset / 2
            stop = int(np.searchsorted(total, total[start] + even, side="right")) - 1
            if stop < end and total[stop + 1] - total[start] <= budget:
                missing, excess = total[start] + even - total[stop], total[stop + 1] - total[start] - even
                stop += int(excess < missing)
            stop = _rounded(total, start, stop, budget)
            start = self._without_spike(order, start, max(stop, start + 1), limits)
        return np.array(starts + list(range(end, len(order))), np.int64)

    def _without_spike(self, order: IntArray, start: int, stop: int, limits: list[float]) -> int:
        """An earlier stop where one very long row would pad all others of a batch to its length."""
        for lengths, most in zip((self._first, self._second), limits, strict=True):
            longest = np.maximum.accumulate(lengths[order[start:stop]])
            fits = longest * np.arange(1, stop - start + 1) <= most
            stop = start + max(int(np.argmin(fits)) if not fits.all() else stop - start, 1)
        return stop


def _rounded(total: IntArray, start: int, stop: int, budget: float) -> int:
    """A stop near another one that makes a round number of rows within the budget; the end is the end."""
    if stop == len(total) - 1:
        return stop
    size = stop - start
    step = 1 << max((size // _ROUND).bit_length() - 1, 0)
    fewer, more = start + size // step * step, start + -(-size // step) * step
    fits = more < len(total) and total[more] - total[start] <= budget
    return more if fits and more - stop <= stop - fewer else fewer


def _levels(first: IntArray, second: IntArray) -> IntArray:
    """The first length, or for rows with an unusually long second one the first that goes with such a second.

    A few such rows would pad the second column of a whole batch; among longer rows they are nothing special.
    """
    usual = float(np.quantile(second / first, _USUAL))
    return np.maximum(first, np.ceil(second / usual).astype(np.int64)) if usual else first
