"""Training text that is segmented anew each epoch, and batches that fit the lengths of each."""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_transformer.data.batching import Batch, BatchPlan
from tf_transformer.data.encoding import EncodedCorpus, IntArray

Values = np.ndarray[Any, np.dtype[np.int32]]
Sampler = Callable[[Sequence[int]], tuple[Values, IntArray]]
"""A seed to the ids of all rows one after the other, `[ids]`, and how many each row has, int64 `[rows]`."""
Ids = tuple[Values, IntArray]
"""The ids of all rows one after the other, and where each row begins and ends, int64 `[rows + 1]`."""

_EPOCHS_KEPT = 3


@dataclass(frozen=True)
class _Epoch:
    ids: dict[str, Ids]
    plan: BatchPlan


class SampledPlan:
    """Ids and batches of every epoch, a pure function of texts, seed and epoch; otherwise like `BatchPlan`.

    The rows are those of `encoded` in every epoch: whether a row is short enough is a matter of its usual
    segmentation. One that is drawn too long gives way to the usual one, for this epoch.

    Args:
        encoded: The corpus in its usual segmentation, within the limits of length.
        samplers: Name of each column that is sampled to its sampler, which gives ids as in `encoded`.
        max_lengths: Name of a column to the positions that a row may take; columns left out have no limit.
        settings: What the samplers' draws depend on, for the digest.
        batch_tokens: See `BatchPlan`.
        budget_column: See `BatchPlan`.
        seed: Of the order and of the segmentations.
        weights: See `BatchPlan`.

    Raises:
        ValueError: An argument is wrong.
    """

    def __init__(
        self,
        encoded: EncodedCorpus,
        samplers: Mapping[str, Sampler],
        max_lengths: Mapping[str, int],
        settings: str,
        batch_tokens: int,
        *,
        budget_column: str | None = "target",
        seed: int = 0,
        weights: Sequence[float] | None = None,
    ) -> None:
        if not set(samplers) <= set(encoded.lengths):
            raise ValueError(
                f"`samplers` must be for columns of {sorted(encoded.lengths)}. Received: {sorted(samplers)}"
            )
        self._encoded = encoded
        self._samplers = dict(samplers)
        self._max_lengths = dict(max_lengths)
        self._settings = settings
        self._options: dict[str, Any] = {
            "batch_tokens": batch_tokens,
            "budget_column": budget_column,
            "seed": seed,
            "corpora": encoded.corpora,
            "weights": weights,
        }
        self._usual = BatchPlan(encoded.lengths, **self._options)
        self._recent: dict[int, _Epoch] = {}
        self._making = threading.Lock()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._usual.columns

    @property
    def batch_tokens(self) -> int:
        """Real tokens of a batch."""
        return self._usual.batch_tokens

    @property
    def num_rows(self) -> int:
        """Rows of the corpus that the plan is for."""
        return self._usual.num_rows

    @property
    def shapes(self) -> list[dict[str, int]]:
        """The shapes that batches of the first epoch may be padded to; every epoch has its own."""
        return self._at(0).plan.shapes

    def epoch(self, epoch: int) -> list[Batch]:
        """The batches of an epoch, in the order of training."""
        return self._at(epoch).plan.epoch(epoch)

    def num_batches(self, epoch: int) -> int:
        """How many batches an epoch has."""
        return len(self.epoch(epoch))

    def padding(self, epoch: int = 0) -> dict[str, float]:
        """The share of padding among all positions of an epoch, by column."""
        return self._at(epoch).plan.padding(epoch)

    def ids(self, epoch: int) -> dict[str, Ids]:
        """The ids of an epoch by column."""
        return self._at(epoch).ids

    def digest(self) -> str:
        """What tells one plan from another: equal digests, equal ids and batches in every epoch."""
        parts = (self._usual.digest(), self._settings, sorted(self._max_lengths.items()))
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _at(self, epoch: int) -> _Epoch:
        found = self._recent.get(epoch)
        if found is None:
            with self._making:  # who only asks for a ready one never waits
                found = self._recent.get(epoch) or self._make(epoch)
                kept = dict(list(self._recent.items())[1 - _EPOCHS_KEPT :])
                self._recent = {**kept, epoch: found}
        return found

    def _make(self, epoch: int) -> _Epoch:
        ids, lengths = {}, {}
        for name in self._encoded.lengths:
            column = self._encoded.columns[name]
            usual = column.flat_values.numpy(), column.row_splits.numpy()
            sizes = np.diff(usual[1])
            ids[name] = self._sampled(name, epoch, usual) if name in self._samplers else usual
            lengths[name] = self._encoded.lengths[name] + np.diff(ids[name][1]) - sizes
        return _Epoch(ids, BatchPlan(lengths, **self._options))

    def _sampled(self, name: str, epoch: int, usual: Ids) -> Ids:
        values, sizes = self._samplers[name]([self._options["seed"], epoch, *name.encode("utf-8")])
        usual_sizes = np.diff(usual[1])
        if len(sizes) != len(usual_sizes):
            raise ValueError(
                f"The sampler of {name!r} must draw each of {len(usual_sizes)} rows. Received: {len(sizes)}"
            )
        extra = self._encoded.lengths[name] - usual_sizes
        too_long = sizes + extra > self._max_lengths.get(name, np.inf)
        chosen = np.where(too_long, usual_sizes, sizes)
        ids = np.empty(int(chosen.sum()), np.int32)
        given_way = np.repeat(too_long, chosen)
        ids[given_way] = usual[0][np.repeat(too_long, usual_sizes)]
        ids[~given_way] = values[~np.repeat(too_long, sizes)]
        return ids, np.concatenate([[0], np.cumsum(chosen)])
