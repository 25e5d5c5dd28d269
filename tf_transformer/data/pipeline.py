"""From tensors in memory to batches for a model: whole batches are gathered and padded, never single rows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.data.augmented import Augment
from tf_transformer.data.batching import Batch, BatchPlan
from tf_transformer.data.encoding import Column, EncodedCorpus, encode, limit, merge, token_warnings
from tf_transformer.data.prepared import StoredColumn
from tf_transformer.data.row_plan import RowPlan
from tf_transformer.data.sampled_plan import Ids, SampledPlan
from tf_transformer.data.shapes import IntArray
from tf_transformer.data.streamed_plan import StreamedPlan
from tf_transformer.data.windows import WindowBatch, WindowPlan, slices_of
from tf_transformer.replicas import Shares

__all__ = [
    "Batch",
    "BatchPlan",
    "EncodedCorpus",
    "EvaluationSet",
    "Plan",
    "Position",
    "RowPlan",
    "SampledPlan",
    "Shares",
    "StreamedPlan",
    "WindowPlan",
    "encode",
    "evaluation_batches",
    "limit",
    "merge",
    "token_warnings",
    "training_dataset",
]

Plan = BatchPlan | SampledPlan | RowPlan | WindowPlan | StreamedPlan
Assemble = Callable[..., Any]
_SPANS = ("starts", "sizes")
"""What a batch of windows says beside its rows."""
_AHEAD = 8
"""Batches that are made ready while the model works."""
WHOLE = Shares()
"""Batches as they are: one part, which is made here."""


@dataclass(frozen=True)
class Position:
    """Where training stands in its data: the batch that comes next.

    Attributes:
        epoch: Number of the epoch, from 0.
        batch: Number of the batch in that epoch's plan, from 0.
    """

    epoch: int = 0
    batch: int = 0

    def __post_init__(self) -> None:
        for name in ("epoch", "batch"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 0))

    def advance(self, plan: Plan, batches: int = 1) -> "Position":
        """The position some batches later.

        Args:
            plan: The plan that is followed.
            batches: Batches that were used.

        Returns:
            A new position; after the last batch of an epoch, the first one of the next.
        """
        epoch, batch = self.epoch, self.batch + batches
        while batch >= (size := plan.num_batches(epoch)):
            epoch, batch = epoch + 1, batch - size
        return Position(epoch, batch)

    def to_json(self) -> dict[str, int]:
        """The position as plain values."""
        return {"epoch": self.epoch, "batch": self.batch}

    @classmethod
    def from_json(cls, values: Mapping[str, int]) -> "Position":
        """The position that `to_json` wrote."""
        return cls(values["epoch"], values["batch"])


def training_dataset(
    encoded: EncodedCorpus,
    plan: Plan,
    assemble: Assemble,
    start: Position | tuple[int, int] = (0, 0),
    *,
    augment: Augment | None = None,
    shares: Shares = WHOLE,
) -> tf.data.Dataset:
    """Batches without end, in the order of a plan.

    Args:
        encoded: The corpus that the plan was made for.
        plan: Which rows make a batch, and what they are padded to; a `SampledPlan` also has the ids, and for
            a `WindowPlan` it is windows of rows. A `StreamedPlan` reads the ids of a `PreparedCorpus`.
        assemble: Called in a graph with keywords: for each ragged column, `source` say, `source_ids`, its
            int32 ids `[batch, None]`, and `source_length`, the scalar int32 length to pad to; for any other
            column its name, the rows of the tensor. Returns what the model gets, such as `(inputs, labels)`.
        start: Epoch and batch to begin with; a late one is no slower than the first.
        augment: Called in a graph with what `assemble` returned and the numbers of epoch and batch, int64
            scalars, which whatever it draws must depend on alone; returns what the model gets instead.
            Shares of a batch count as batches, so that each has draws of its own.
        shares: Which parts of each batch there are; all have the batch's lengths, and one may have no row.

    Returns:
        An infinite dataset of what `assemble` returns, one element a batch, in the order of the plan exactly;
        one a share, where there are several.

    Raises:
        ValueError: The plan is for other columns or another number of rows.
    """
    if set(plan.columns) != set(encoded.lengths) or plan.num_rows != len(encoded):
        raise ValueError(
            f"`plan` must be for columns {sorted(encoded.lengths)} and {len(encoded)} rows. "
            f"Received: a plan for {sorted(plan.columns)} and {plan.num_rows} rows"
        )
    first = start if isinstance(start, Position) else Position(*start)

    if isinstance(plan, StreamedPlan):
        # Pools take the place of epochs: each is read, shuffled and left behind.
        pool, batch = plan.place(first.epoch, first.batch)
        pools = tf.data.Dataset.from_generator(
            lambda: plan.pools_from(pool), output_signature=tf.TensorSpec([], tf.int64)
        )
        where = Position(pool, batch)
        return _dataset(encoded, pools, plan.batches_of, where, assemble, plan.ids_of, shares=shares)
    epochs = tf.data.Dataset.counter(first.epoch, 1)
    sampled = plan.ids if isinstance(plan, SampledPlan) else None
    spans = _SPANS if isinstance(plan, WindowPlan) else ()
    return _dataset(encoded, epochs, plan.epoch, first, assemble, sampled, augment, spans, shares)


def columns_in(epoch: int, encoded: EncodedCorpus, plan: Plan) -> dict[str, Column]:
    """The columns of a corpus in an epoch."""
    if not isinstance(plan, SampledPlan):
        return encoded.columns
    ids = plan.ids(epoch)
    sampled = _ragged(ids, [tf.constant(array) for pair in ids.values() for array in pair])
    return {**encoded.columns, **sampled}


def batch_of(columns: Mapping[str, Column], batch: Batch, assemble: Assemble) -> Any:
    """One batch as the model gets it, outside of any dataset.

    Args:
        columns: As from `columns_in`.
        batch: Which rows.
        assemble: As for `training_dataset`.
    """
    spans = [getattr(batch, name) for name in _SPANS] if isinstance(batch, WindowBatch) else []
    chosen = {_argument(name, batch.lengths): _taken(columns[name], batch.rows, *spans) for name in columns}
    return assemble(**chosen, **{f"{name}_length": length for name, length in batch.lengths.items()})


@dataclass(frozen=True)
class EvaluationSet:
    """Every row of a corpus once, sorted by length.

    Attributes:
        batches: Which rows each element of `dataset` holds.
        dataset: A finite dataset of what `assemble` returned, in the order of `batches`.
    """

    batches: tuple[Batch, ...]
    dataset: tf.data.Dataset

    def restore(self, results: Sequence[Sequence[Any]]) -> list[Any]:
        """Bring results into the order of the corpus.

        Args:
            results: For each batch its results, one a row.

        Returns:
            One result for each row of the corpus, in its order.

        Raises:
            ValueError: A batch lacks results or has too many.
        """
        sizes = [len(batch.rows) for batch in self.batches]
        if [len(result) for result in results] != sizes:
            raise ValueError(
                f"`results` must have one for each row of batches of {sizes}. "
                f"Received: {[len(result) for result in results]}"
            )
        restored: list[Any] = [None] * sum(sizes)
        for batch, result in zip(self.batches, results, strict=True):
            for row, value in zip(batch.rows, result, strict=True):
                restored[row] = value
        return restored


def evaluation_batches(encoded: EncodedCorpus, batch_tokens: int, assemble: Assemble) -> EvaluationSet:
    """Batches of a whole dev or test set, the same ones each time.

    Args:
        encoded: The corpus; nothing of it is left out.
        batch_tokens: Most positions of a batch on its longer side, padding included; a longer row stands
            alone. Most rows, where nothing is padded.
        assemble: As for `training_dataset`.

    Returns:
        The batches, longest rows first: what does not fit in memory shows at once.

    Raises:
        ValueError: `batch_tokens` is less than 1, or the corpus is empty.
    """
    batch_tokens = whole_number("batch_tokens", batch_tokens, 1)
    if not len(encoded):
        raise ValueError("`encoded` must not be empty. Received: 0 rows")
    names = list(encoded.lengths)
    longest = np.max([np.ones(len(encoded), np.int64), *encoded.lengths.values()], axis=0)
    order = np.lexsort((*(-encoded.lengths[name] for name in names), -longest))
    batches = []
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // max(1, int(longest[order[start]])))
        batches.append(_batch(encoded, order[start : start + size]))
        start += size
    once = tf.data.Dataset.range(1)
    return EvaluationSet(tuple(batches), _dataset(encoded, once, lambda _: batches, Position(), assemble))


def _batch(encoded: EncodedCorpus, rows: IntArray) -> Batch:
    lengths = {name: int(values[rows].max()) for name, values in encoded.lengths.items()}
    return Batch(rows, lengths, sum(int(values[rows].sum()) for values in encoded.lengths.values()))


def _dataset(
    encoded: EncodedCorpus,
    epochs: tf.data.Dataset,
    batches: Callable[[int], Sequence[Batch]],
    start: Position,
    assemble: Assemble,
    sampled: Callable[[int], Mapping[str, Ids]] | None = None,
    augment: Augment | None = None,
    spans: Sequence[str] = (),
    shares: Shares = WHOLE,
) -> tf.data.Dataset:
    """Gather, pad and prefetch in a graph; Python is asked once an epoch which rows go together."""
    names = tuple(encoded.lengths)
    types = [tf.int64, tf.int64, tf.int32] + [tf.int64] * len(spans)
    types += [tf.int32, tf.int64] * (len(names) if sampled else 0)

    def numbers(epoch: IntArray) -> list[np.ndarray[Any, Any]]:
        ids = [array for name in names for array in sampled(int(epoch))[name]] if sampled else []
        planned = [share for batch in batches(int(epoch)) for share in _shares_of(batch, shares, spans)]
        ends = np.cumsum([0] + [len(batch.rows) for batch in planned])
        lengths = [[batch.lengths[name] for name in names] for batch in planned]
        rows, *places = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(batch, name) for batch in planned)])
            for name in ("rows", *spans)
        )
        return [rows, ends, np.array(lengths, np.int32).reshape(len(planned), len(names)), *places, *ids]

    def planned(epoch: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return epoch, *tf.numpy_function(numbers, [epoch], types)

    def one_epoch(
        epoch: tf.Tensor, rows: tf.Tensor, ends: tf.Tensor, lengths: tf.Tensor, *more: tf.Tensor
    ) -> tf.data.Dataset:
        rows, ends, *known = [tf.ensure_shape(tensor, [None]) for tensor in (rows, ends, *more)]
        places, known = known[: len(spans)], known[len(spans) :]
        lengths = tf.ensure_shape(lengths, [None, len(names)])
        columns = {**encoded.columns, **(_ragged(names, known) if sampled else {})}
        first = tf.where(epoch == start.epoch, tf.constant(start.batch * shares.here, tf.int64), 0)

        def gather(place: tf.Tensor) -> tuple[dict[str, Column], tf.Tensor, tf.Tensor]:
            chosen = [tensor[ends[place] : ends[place + 1]] for tensor in (rows, *places)]
            gathered = {_argument(name, names): _taken(columns[name], *chosen) for name in columns}
            number = place // shares.here * shares.count + shares.first + place % shares.here
            return gathered, lengths[place], tf.stack([epoch, number])

        return tf.data.Dataset.range(first, tf.shape(lengths, tf.int64)[0]).map(gather)

    def pad(columns: dict[str, Column], lengths: tf.Tensor, place: tf.Tensor) -> Any:
        sizes = {f"{name}_length": lengths[column] for column, name in enumerate(names)}
        batch = assemble(**columns, **sizes)
        return batch if augment is None else augment(batch, place[0], place[1])

    # The next epoch is made ready while this one is trained on.
    dataset = epochs.map(planned).prefetch(1).flat_map(one_epoch)
    dataset = dataset.map(pad, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    return dataset.prefetch(_AHEAD)


def _shares_of(batch: Batch, shares: Shares, spans: Sequence[str]) -> list[Batch]:
    """The parts of a batch that are made here: every so manieth row, which evens out their lengths."""
    names = ("rows", *spans)
    return [
        replace(batch, **{name: getattr(batch, name)[number :: shares.count] for name in names})
        for number in shares.numbers
    ]


def _taken(column: Column, rows: Any, *spans: Any) -> Column:
    """Rows of a column, or spans of them."""
    if isinstance(column, StoredColumn):
        return column.gather(rows)
    return slices_of(column, rows, *spans) if spans else tf.gather(column, rows)


def _argument(name: str, ragged: Collection[str]) -> str:
    """What `assemble` gets a column as."""
    return f"{name}_ids" if name in ragged else name


def _ragged(names: Collection[str], ids: Sequence[tf.Tensor]) -> dict[str, tf.RaggedTensor]:
    """Columns of their values and splits, one after the other."""
    pairs = zip(names, ids[::2], ids[1::2], strict=True)
    return {
        name: tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        for name, values, splits in pairs
    }
