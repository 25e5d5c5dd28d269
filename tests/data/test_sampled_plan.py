"""Epochs of other segmentations: every row once, within its limits, whatever is asked for first."""

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import Position, columns_in, training_dataset
from tf_transformer.data.report import CorpusReport
from tf_transformer.data.sampled_plan import SampledPlan

ROWS = 31
MOST = {"source": 9, "target": 7}


def corpus() -> EncodedCorpus:
    """Row r has r % 7 + 1 source ids and r % 5 + 1 target ids, all r + 10."""
    source = tf.ragged.constant([[row + 10] * (row % 7 + 1) for row in range(ROWS)], tf.int32)
    target = tf.ragged.constant([[row + 10] * (row % 5 + 1) for row in range(ROWS)], tf.int32)
    lengths = {"source": source.row_lengths().numpy(), "target": target.row_lengths().numpy() + 1}
    zeros = np.zeros(ROWS, np.int64)
    columns = {"source": source, "target": target}
    return EncodedCorpus(columns, lengths, zeros, np.arange(ROWS) + 1, (CorpusReport("train", ROWS),))


def drawn(sizes: Sequence[int]) -> Any:
    """Row r of so many ids, all r + 10."""
    return np.repeat(np.arange(ROWS, dtype=np.int32) + 10, sizes), np.array(sizes)


def draw(seed: Sequence[int]) -> Any:
    """1 to 10 ids a row."""
    return drawn(np.random.default_rng(list(seed)).integers(1, 11, ROWS))


def made(samplers: Any = None, **options: Any) -> SampledPlan:
    samplers = {"source": draw, "target": draw} if samplers is None else samplers
    options = {"settings": "", "seed": 5, **options}
    return SampledPlan(corpus(), samplers=samplers, max_lengths=MOST, batch_tokens=17, **options)


def rows_of(plan: SampledPlan, epoch: int, name: str) -> list[list[int]]:
    values, splits = plan.ids(epoch)[name]
    assert (values.dtype, splits.dtype) == (np.int32, np.int64)
    return [values[start:end].tolist() for start, end in itertools.pairwise(splits)]


def assemble(source_ids: Any, target_ids: Any, source_length: Any, target_length: Any) -> Any:
    def padded(ids: tf.RaggedTensor, length: tf.Tensor) -> tf.Tensor:
        dense = ids.to_tensor()
        return tf.pad(dense, [[0, 0], [0, length - tf.shape(dense)[1]]])

    return padded(source_ids, source_length), padded(target_ids, target_length)


def test_every_row_is_drawn_anew_and_stands_once_in_each_epoch() -> None:
    plan = made()
    for name in ("source", "target"):
        epochs = [rows_of(plan, epoch, name) for epoch in range(3)]
        assert len({str(rows) for rows in epochs}) == 3
        for rows in epochs:
            assert [set(row) for row in rows] == [{row + 10} for row in range(ROWS)]
    assert rows_of(plan, 0, "source") != rows_of(plan, 0, "target")
    for epoch in range(3):
        rows = np.concatenate([batch.rows for batch in plan.epoch(epoch)])
        assert sorted(rows.tolist()) == list(range(ROWS))


def test_batches_fit_the_lengths_of_their_epoch() -> None:
    plan = made()
    for epoch in range(3):
        sizes = {name: np.array([len(row) for row in rows_of(plan, epoch, name)]) for name in MOST}
        for batch in plan.epoch(epoch):
            assert batch.tokens == (sizes["target"][batch.rows] + 1).sum() <= 17
            assert sizes["source"][batch.rows].max() <= batch.lengths["source"] <= MOST["source"]
            assert sizes["target"][batch.rows].max() < batch.lengths["target"] <= MOST["target"]


def test_what_is_drawn_too_long_gives_way_to_the_usual() -> None:
    usual = {name: column.to_list() for name, column in corpus().columns.items()}
    # Sources may have 9 ids; of the target's 7 positions one is for its start or end.
    for name, most in (("source", 9), ("target", 6)):
        sizes = [most + row % 2 for row in range(ROWS)]
        rows = rows_of(made({name: lambda _, sizes=sizes: drawn(sizes)}), 0, name)
        assert rows[1::2] == usual[name][1::2]
        assert rows[::2] == [[row + 10] * most for row in range(0, ROWS, 2)]


def test_a_side_that_is_not_sampled_is_the_usual() -> None:
    plan = made({"target": draw})
    assert rows_of(plan, 4, "source") == corpus().columns["source"].to_list()
    assert rows_of(plan, 4, "target") != rows_of(plan, 5, "target")


def test_epochs_depend_on_seed_and_number_alone() -> None:
    forwards, backwards = made(), made()
    expected = [(rows_of(forwards, epoch, "source"), str(forwards.epoch(epoch))) for epoch in range(6)]
    for epoch in reversed(range(6)):
        assert (rows_of(backwards, epoch, "source"), str(backwards.epoch(epoch))) == expected[epoch]
    assert rows_of(made(seed=6), 0, "source") != expected[0][0]


def test_the_digest_tells_plans_apart() -> None:
    digest = made().digest()
    assert made().digest() == digest
    others = [
        made(seed=6),
        made(settings="alpha 0.2"),
    ]
    assert len({digest, *(other.digest() for other in others)}) == 3


def test_the_dataset_follows_from_any_position() -> None:
    plan, encoded = made(), corpus()
    whole = [
        (source.numpy().tolist(), target.numpy().tolist())
        for source, target in training_dataset(encoded, plan, assemble).take(40)
    ]
    expected = [(epoch, batch) for epoch in range(5) for batch in plan.epoch(epoch)][:40]
    for (source, _), (epoch, batch) in zip(whole, expected, strict=True):
        rows = rows_of(plan, epoch, "source")
        assert [[piece for piece in row if piece] for row in source] == [rows[row] for row in batch.rows]
    assert expected[-1][0] > 1
    start = Position().advance(plan, 17)
    rest = training_dataset(encoded, made(), assemble, start).take(23)
    assert [(source.numpy().tolist(), target.numpy().tolist()) for source, target in rest] == whole[17:]
    assert columns_in(1, encoded, plan)["source"].to_list() == rows_of(plan, 1, "source")


def test_the_next_epoch_is_made_meanwhile_and_nobody_waits_for_it() -> None:
    begun, go_on = threading.Event(), threading.Event()
    seeds: list[str] = []

    def slow(seed: Sequence[int]) -> Any:
        seeds.append(str(seed))
        if len(seeds) == 2:  # of the second epoch
            begun.set()
            assert go_on.wait(60)
        return draw(seed)

    plan = made({"source": slow})
    batches = iter(training_dataset(corpus(), plan, assemble))
    next(batches)
    assert begun.wait(60)
    assert plan.num_batches(0) > 1  # answered while the second epoch is being made
    go_on.set()
    assert plan.num_batches(1) > 1
    assert len(seeds) == len(set(seeds))


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"for columns of \['source', 'target'\]\. Received: \['label'\]"):
        made({"label": draw})
    plan = made({"source": lambda _: (np.zeros(3, np.int32), np.ones(3, np.int64))})
    with pytest.raises(ValueError, match=r"sampler of 'source' must draw each of 31 rows\. Received: 3"):
        plan.ids(0)
