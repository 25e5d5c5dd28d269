"""Batches of a corpus that is larger than memory: pools of blocks, each shuffled and cut by itself."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

import numpy as np

from tf_transformer.arguments import whole_number
from tf_transformer.data.batching import Batch, BatchPlan
from tf_transformer.data.epoch_rows import rows_of_epoch
from tf_transformer.data.plan_arguments import corpus_parts
from tf_transformer.data.prepared import PreparedCorpus
from tf_transformer.data.random_words import random_words
from tf_transformer.data.sampled_plan import Ids
from tf_transformer.data.shapes import IntArray

_ALGORITHM = 1
"""Counted up whenever the same arguments give other batches than before: runs that continue must notice."""
_MOST_POOLS: Final = 1 << 24
"""Pools are numbered over all epochs: the number of an epoch times this, and its place there."""
_EPOCHS_KEPT = 3
_POOLS_KEPT = 2


@dataclass(frozen=True)
class _Pool:
    """Rows that are shuffled together.

    Attributes:
        blocks: Numbers of the blocks that hold them, in the order in which they are read.
        rows: The row of the corpus that each row of the pool is, int64 `[rows]`.
        batches: What they are cut into; rows of a batch are rows of the pool.
    """

    blocks: IntArray
    rows: IntArray
    batches: list[Batch]


class StreamedPlan:
    """Batches of every epoch of a prepared corpus, a pure function of its lengths, seed and epoch.

    An epoch takes blocks of about a thousand rows in an order of its own, as many at a time as the memory
    allows; such a pool is planned as a `BatchPlan` plans a corpus, and its batches come before those of the
    next one. A corpus that fits into one pool has the very batches of a `BatchPlan`; of a larger one a
    fraction in its weight means a part of its blocks.

    Args:
        corpus: The prepared corpus.
        batch_tokens: See `BatchPlan`.
        memory: Bytes that rows which are shuffled together may take, all copies and their planning included.
        budget_column: See `BatchPlan`.
        seed: See `BatchPlan`.
        weights: See `BatchPlan`.
        max_shapes: See `BatchPlan`.

    Raises:
        TypeError: A number is none, or not whole.
        ValueError: An argument is wrong.
    """

    def __init__(
        self,
        corpus: PreparedCorpus,
        batch_tokens: int,
        *,
        memory: int,
        budget_column: str | None = "target",
        seed: int = 0,
        weights: Sequence[float] | None = None,
        max_shapes: int = 80,
    ) -> None:
        self._corpus, self._memory = corpus, whole_number("memory", memory, 1)
        self.seed = whole_number("seed", seed, 0)
        self._parts = corpus_parts(len(corpus.blocks), corpus.corpus_of_block, weights)
        self._pool_rows = corpus.rows_in(memory)
        options: dict[str, Any] = {"budget_column": budget_column, "seed": seed, "max_shapes": max_shapes}
        self._counts: dict[int, list[int]] = {}
        self._recent: dict[int, _Pool] = {}
        self._whole = len(corpus) * max(1.0, *(weights or [1.0])) <= self._pool_rows
        if self._whole:
            options |= {"corpora": corpus.corpora, "weights": weights}
            self._plan = BatchPlan(corpus.lengths, batch_tokens, **options)
        else:
            self._plan = BatchPlan(self._lengths(self._typical_rows()), batch_tokens, **options)

    def _typical_rows(self) -> IntArray:
        """Rows that the shapes are chosen from: those of the first pool, and the longest of all."""
        longest = [int(np.argmax(lengths)) for lengths in self._corpus.lengths.values()]
        return np.append(self._rows_of(self._blocks(0, 0)), longest)

    def _lengths(self, rows: IntArray) -> Mapping[str, IntArray]:
        return {name: lengths[rows].astype(np.int64) for name, lengths in self._corpus.lengths.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._plan.columns

    @property
    def batch_tokens(self) -> int:
        """Real tokens of a batch."""
        return self._plan.batch_tokens

    @property
    def num_rows(self) -> int:
        """Rows of the corpus that the plan is for."""
        return len(self._corpus)

    @property
    def shapes(self) -> list[dict[str, int]]:
        """All shapes that batches may be padded to."""
        return self._plan.shapes

    def epoch(self, epoch: int) -> Sequence[Batch]:
        """The batches of an epoch, in the order of training; each is made when it is asked for."""
        return _Batches(self, epoch)

    def num_batches(self, epoch: int) -> int:
        """How many batches an epoch has; the first answer of an epoch plans all of it once."""
        return sum(self._sizes(epoch))

    def padding(self, epoch: int = 0) -> dict[str, float]:
        """The share of padding among all positions of an epoch, or of its first pool."""
        batches = self.batches_of(epoch * _MOST_POOLS)
        rows = self._pool(epoch * _MOST_POOLS).rows
        shares = {}
        for name, lengths in self._lengths(rows).items():
            real = sum(int(lengths[batch.rows].sum()) for batch in batches)
            shares[name] = 1 - real / sum(len(batch.rows) * batch.lengths[name] for batch in batches)
        return shares

    def digest(self) -> str:
        """What tells one plan from another: equal digests, equal batches in every epoch."""
        if self._whole:
            return self._plan.digest()
        parts = [(len(blocks), str(weight)) for blocks, weight in self._parts]
        arrays = self._corpus.index["arrays"]
        facts = (_ALGORITHM, self._pool_rows, parts, sorted(arrays.items()), self._plan.digest())
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    # What the input pipeline asks, pool by pool.

    def place(self, epoch: int, batch: int) -> tuple[int, int]:
        """The pool that a batch of an epoch is in, and its place there."""
        for pool, size in enumerate(self._sizes(epoch)):
            if batch < size:
                return epoch * _MOST_POOLS + pool, batch
            batch -= size
        return (epoch + 1) * _MOST_POOLS, 0

    def pools_from(self, pool: int) -> Iterator[int]:
        """The numbers of a pool and of all later ones, without end."""
        epoch, place = divmod(pool, _MOST_POOLS)
        while True:
            yield from range(epoch * _MOST_POOLS + place, epoch * _MOST_POOLS + self._num_pools(epoch))
            epoch, place = epoch + 1, 0

    def batches_of(self, pool: int) -> list[Batch]:
        """The batches of a pool; their rows are rows of the pool."""
        return self._pool(pool).batches

    def ids_of(self, pool: int) -> dict[str, Ids]:
        """The ids of a pool by column, read now."""
        return self._corpus.read(self._pool(pool).blocks)

    def batch(self, epoch: int, batch: int) -> Batch:
        """A batch of an epoch; its rows are rows of the corpus."""
        pool, place = self.place(epoch, batch)
        found = self._pool(pool)
        chosen = found.batches[place]
        return Batch(found.rows[chosen.rows], chosen.lengths, chosen.tokens)

    def _sizes(self, epoch: int) -> list[int]:
        """How many batches each pool of an epoch has."""
        if epoch not in self._counts:
            first = epoch * _MOST_POOLS
            sizes = [len(self._made(first + pool).batches) for pool in range(self._num_pools(epoch))]
            # One assignment: the input pipeline's thread may ask at the same time.
            self._counts = {**dict(list(self._counts.items())[1 - _EPOCHS_KEPT :]), epoch: sizes}
        return self._counts[epoch]

    def _pool(self, pool: int) -> _Pool:
        found = self._recent.get(pool) or self._made(pool)
        self._recent = {**dict(list(self._recent.items())[1 - _POOLS_KEPT :]), pool: found}
        return found

    def _made(self, pool: int) -> _Pool:
        epoch, place = divmod(pool, _MOST_POOLS)
        if self._whole:
            every = np.arange(len(self._corpus.blocks)), np.arange(len(self._corpus))
            return _Pool(*every, self._plan.epoch(epoch))
        blocks = self._blocks(epoch, place)
        rows = self._rows_of(blocks)
        batches = self._plan.on(self._lengths(rows)).epoch(pool) if len(rows) else []
        return _Pool(blocks, rows, batches)

    def _num_pools(self, epoch: int) -> int:
        if self._whole:
            return 1
        rows = int(self._corpus.blocks["rows"][rows_of_epoch(self._parts, self.seed, epoch)].sum())
        return max(-(-rows // self._pool_rows), 1)

    def _blocks(self, epoch: int, pool: int) -> IntArray:
        """The blocks of a pool; those of an epoch are dealt out evenly."""
        blocks = rows_of_epoch(self._parts, self.seed, epoch)
        order = np.argsort(random_words(self.seed, "blocks", epoch, len(blocks)), kind="stable")
        dealt: IntArray = np.array_split(blocks[order], self._num_pools(epoch))[pool]
        return dealt

    def _rows_of(self, blocks: IntArray) -> IntArray:
        starts, ends = self._corpus.first_rows[blocks], self._corpus.first_rows[blocks + 1]
        spans = [np.arange(*span) for span in zip(starts, ends, strict=True)]
        return np.concatenate([np.zeros(0, np.int64), *spans])


class _Batches(Sequence[Batch]):
    """The batches of an epoch, made when they are asked for."""

    def __init__(self, plan: StreamedPlan, epoch: int) -> None:
        self._plan, self._epoch = plan, epoch

    def __len__(self) -> int:
        return self._plan.num_batches(self._epoch)

    @overload
    def __getitem__(self, place: int) -> Batch: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Batch]: ...
    def __getitem__(self, place: int | slice) -> Batch | Sequence[Batch]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self._plan.batch(self._epoch, place % len(self))
