"""Batches for a model: in the plan's order from any position, and whole evaluation sets."""

import itertools
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import (
    BatchPlan,
    Position,
    RowPlan,
    Shares,
    WindowPlan,
    batch_of,
    columns_in,
    evaluation_batches,
    training_dataset,
)
from tf_transformer.data.report import CorpusReport

ROWS = 31


def _corpus() -> EncodedCorpus:
    """Row r has r % 7 + 1 source ids and r % 5 target ids, all r + 10."""
    source = tf.ragged.constant([[row + 10] * (row % 7 + 1) for row in range(ROWS)], tf.int32)
    target = tf.ragged.constant([[row + 10] * (row % 5) for row in range(ROWS)], tf.int32)
    lengths = {"source": source.row_lengths().numpy(), "target": target.row_lengths().numpy() + 1}
    zeros = np.zeros(ROWS, np.int64)
    columns = {"source": source, "target": target}
    return EncodedCorpus(columns, lengths, zeros, np.arange(ROWS) + 1, (CorpusReport("train", ROWS),))


def _assemble(
    source_ids: tf.RaggedTensor, target_ids: tf.RaggedTensor, source_length: Any, target_length: Any
) -> tuple[tf.Tensor, tf.Tensor]:
    starts = tf.fill([target_ids.nrows(), 1], 2)
    shifted = tf.concat([starts, target_ids], axis=1)
    return _padded(source_ids, source_length), _padded(shifted, target_length)


def _padded(ids: tf.RaggedTensor, length: Any) -> tf.Tensor:
    dense = ids.to_tensor()
    return tf.pad(dense, [[0, 0], [0, length - tf.shape(dense)[1]]])


def _plan(encoded: EncodedCorpus) -> BatchPlan:
    return BatchPlan(encoded.lengths, 17, seed=5)


def test_batches_follow_the_plan() -> None:
    encoded = _corpus()
    plan = _plan(encoded)
    expected = [batch for epoch in range(3) for batch in plan.epoch(epoch)]
    dataset = training_dataset(encoded, plan, _assemble)
    assert dataset.element_spec[0].shape.as_list() == [None, None]
    for batch, (source, target) in zip(expected, dataset, strict=False):
        assert (source[:, 0].numpy() - 10).tolist() == batch.rows.tolist()
        assert source.shape == (len(batch.rows), batch.lengths["source"])
        assert target.shape == (len(batch.rows), batch.lengths["target"])
        assert source.dtype == target.dtype == tf.int32
        assert np.count_nonzero(target) == batch.tokens == encoded.lengths["target"][batch.rows].sum()


def test_any_position_continues_exactly() -> None:
    encoded = _corpus()
    plan = _plan(encoded)
    whole = [source.numpy().tolist() for source, _ in training_dataset(encoded, plan, _assemble).take(23)]
    size = plan.num_batches(0)
    for start, skipped in (((0, 3), 3), (Position(1, 1), size + 1), ((0, size), size)):
        rest = training_dataset(encoded, plan, _assemble, start).take(23 - skipped)
        assert [source.numpy().tolist() for source, _ in rest] == whole[skipped:]


@pytest.mark.parametrize("count", [2, 5, 40])
def test_shares_are_the_batch_also_where_there_are_fewer_rows_than_shares(count: int) -> None:
    encoded = _corpus()
    plan = _plan(encoded)
    size = plan.num_batches(0)
    batches = [batch for epoch in range(2) for batch in plan.epoch(epoch)][3:]
    here = (Shares(count, 0, count // 2), Shares(count, count // 2, count - count // 2))
    parts = [iter(training_dataset(encoded, plan, _assemble, (0, 3), shares=shares)) for shares in here]
    for batch in batches[: size + 2]:
        found = [next(part) for shares, part in zip(here, parts, strict=True) for _ in shares.numbers]
        rows = [(source[:, 0].numpy() - 10).tolist() for source, _ in found]
        assert [len(part) for part in rows] == [len(batch.rows[number::count]) for number in range(count)]
        assert sorted(row for part in rows for row in part) == sorted(batch.rows.tolist())
        assert {source.shape[1] for source, _ in found} == {batch.lengths["source"]}


def test_shares_of_windows_are_windows() -> None:
    encoded = _corpus()
    text = EncodedCorpus(
        {"text": encoded.columns["source"]},
        {"text": encoded.lengths["source"]},
        encoded.corpora,
        encoded.lines,
        encoded.reports,
    )
    plan = WindowPlan(text.lengths["text"], 3, 12, seed=5)

    def assemble(text_ids: tf.RaggedTensor, text_length: Any) -> tf.Tensor:
        return _padded(text_ids, text_length)

    whole = iter(training_dataset(text, plan, assemble))
    shared = iter(training_dataset(text, plan, assemble, shares=Shares(2, 0, 2)))
    for _ in range(plan.num_batches(0)):
        parts = next(shared), next(shared)
        rows = sorted(row for part in parts for row in part.numpy().tolist())
        assert rows == sorted(next(whole).numpy().tolist())


def test_each_share_has_draws_of_its_own() -> None:
    encoded = _corpus()
    plan = _plan(encoded)

    def draw(batch: Any, epoch: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        return tf.stack([epoch, number])

    size = plan.num_batches(0)
    start = (0, size - 1)
    alone = training_dataset(encoded, plan, _assemble, start, augment=draw)
    assert [pair.numpy().tolist() for pair in alone.take(3)] == [[0, size - 1], [1, 0], [1, 1]]
    shares = Shares(3, 1, 2)  # the last two of three
    second = training_dataset(encoded, plan, _assemble, start, augment=draw, shares=shares)
    first = 3 * (size - 1)
    assert [pair.numpy().tolist() for pair in second.take(4)] == [
        [0, first + 1],
        [0, first + 2],
        [1, 1],
        [1, 2],
    ]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=23),
    budget=st.integers(1, 40),
    seed=st.integers(0, 9),
    weight=st.sampled_from([1.0, 0.3, 2.5]),
    start=st.integers(0, 30),
)
def test_any_position_is_followed_by_the_rest_of_one_sequence(
    lengths: list[int], budget: int, seed: int, weight: float, start: int
) -> None:
    plans = [BatchPlan({"target": np.array(lengths)}, budget, seed=seed, weights=[weight]) for _ in "ab"]
    sequence = [batch.rows.tolist() for epoch in range(99) for batch in plans[0].epoch(epoch)]
    start = min(start, len(sequence) - 5)
    place = Position().advance(plans[1], start)  # of a plan that has made no epoch before
    for rows in sequence[start : start + 5]:
        assert plans[1].epoch(place.epoch)[place.batch].rows.tolist() == rows
        place = place.advance(plans[1])
    assert place == Position().advance(plans[1], start + 5)


def test_a_late_epoch_costs_no_more() -> None:
    encoded = _corpus()
    plan = _plan(encoded)
    asked: list[int] = []
    original = plan.epoch
    plan.epoch = lambda epoch: asked.append(epoch) or original(epoch)  # type: ignore[method-assign]
    next(iter(training_dataset(encoded, plan, _assemble, (40, 2)).take(1)))
    assert asked and min(asked) == 40


def test_a_position_counts_batches_over_epochs() -> None:
    encoded = _corpus()
    plan = _plan(encoded)
    position = Position()
    places = [(epoch, batch) for epoch in range(3) for batch in range(plan.num_batches(epoch))]
    for count, (epoch, batch) in enumerate(places):
        assert position.to_json() == {"epoch": epoch, "batch": batch}
        assert Position.from_json(position.to_json()) == position == Position().advance(plan, count)
        position = position.advance(plan)
    assert position == Position(3, 0)
    with pytest.raises(ValueError, match=r"`batch` must be at least 0. Received: -1"):
        Position(0, -1)
    with pytest.raises(TypeError, match=r"`epoch` must be a whole number, at least 0. Received: 1.7"):
        Position.from_json({"epoch": 1.7, "batch": 0})  # type: ignore[dict-item]
    assert [type(number) for number in Position(np.int64(1)).to_json().values()] == [int, int]  # type: ignore[arg-type]


def test_a_plan_of_another_corpus_is_refused() -> None:
    encoded = _corpus()
    plan = BatchPlan({"source": np.array([2, 3]), "target": np.array([3, 5])}, 17)
    with pytest.raises(ValueError, match=r"`plan` must be for columns .* 31 rows. Received: .* 2 rows"):
        training_dataset(encoded, plan, _assemble)
    plan = BatchPlan({"text": np.ones(ROWS, int)}, 17, budget_column=None)
    with pytest.raises(ValueError, match=r"Received: a plan for \['text'\]"):
        training_dataset(encoded, plan, _assemble)


@pytest.mark.parametrize("batch_tokens", [1, 13, 1000])
def test_evaluation_takes_every_row_once_and_restores_the_order(batch_tokens: int) -> None:
    encoded = _corpus()
    evaluation = evaluation_batches(encoded, batch_tokens, _assemble)
    rows = [row for batch in evaluation.batches for row in batch.rows]
    assert sorted(rows) == list(range(ROWS))
    longest = np.maximum(encoded.lengths["source"], encoded.lengths["target"])
    assert all(longest[a] >= longest[b] for a, b in itertools.pairwise(rows))
    for _ in range(2):  # the same whole set each time
        results = [source[:, 0].numpy() - 10 for source, _ in evaluation.dataset]
        assert evaluation.restore(results) == list(range(ROWS))
    for batch in evaluation.batches:
        assert len(batch.rows) * max(batch.lengths.values()) <= batch_tokens or len(batch.rows) == 1


def test_wrong_evaluations_are_refused() -> None:
    encoded = _corpus()
    with pytest.raises(ValueError, match=r"`batch_tokens` must be at least 1. Received: 0"):
        evaluation_batches(encoded, 0, _assemble)
    with pytest.raises(ValueError, match=r"one for each row of batches of \[31\]. Received: \[1\]"):
        evaluation_batches(encoded, 1000, _assemble).restore([[7]])


def _pictures() -> EncodedCorpus:
    """Picture r is full of r, and its label is r % 3."""
    pictures = np.broadcast_to(np.arange(ROWS, dtype=np.uint8)[:, None, None, None], (ROWS, 2, 3, 1))
    columns = {"image": tf.constant(pictures), "label": tf.constant(np.arange(ROWS, dtype=np.int32) % 3)}
    zeros = np.zeros(ROWS, np.int64)
    return EncodedCorpus(columns, {}, zeros, np.arange(ROWS) + 1, (CorpusReport("train", ROWS),))


def test_columns_of_one_size_are_gathered_by_rows() -> None:
    encoded, plan = _pictures(), RowPlan(ROWS, 7, seed=5)
    expected = [batch for epoch in range(2) for batch in plan.epoch(epoch)]
    dataset = training_dataset(encoded, plan, lambda image, label: (image, label))
    assert dataset.element_spec[0].shape.as_list() == [None, 2, 3, 1]
    for batch, (image, label) in zip(expected, dataset, strict=False):
        assert image.dtype == tf.uint8 and image[:, 1, 2, 0].numpy().tolist() == batch.rows.tolist()
        assert label.numpy().tolist() == [row % 3 for row in batch.rows]
    late = next(iter(training_dataset(encoded, plan, lambda image, label: label, (1, 2))))
    assert late.numpy().tolist() == [row % 3 for row in plan.epoch(1)[2].rows]
    whole = evaluation_batches(encoded, 7, lambda image, label: label)
    assert [len(batch.rows) for batch in whole.batches] == [7, 7, 7, 7, 3]
    assert [row for batch in whole.batches for row in batch.rows] == list(range(ROWS))


def test_labels_go_with_the_ids_of_their_rows() -> None:
    encoded = _corpus()
    labels = tf.constant(np.arange(ROWS, dtype=np.int32) % 3)
    columns = {"source": encoded.columns["source"], "label": labels}
    lengths = {"source": encoded.lengths["source"]}
    labelled = EncodedCorpus(columns, lengths, encoded.corpora, encoded.lines, encoded.reports)
    plan = BatchPlan(lengths, 17, budget_column="source", seed=5)

    def assemble(source_ids: tf.RaggedTensor, source_length: Any, label: tf.Tensor) -> Any:
        return _padded(source_ids, source_length), label

    for source, label in training_dataset(labelled, plan, assemble).take(9):
        assert ((source[:, 0].numpy() - 10) % 3).tolist() == label.numpy().tolist()
    batch = plan.epoch(2)[1]
    source, label = batch_of(columns_in(2, labelled, plan), batch, assemble)
    assert source.shape == (len(batch.rows), batch.lengths["source"])
    assert label.numpy().tolist() == (batch.rows % 3).tolist()
