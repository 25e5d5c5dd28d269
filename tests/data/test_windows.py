"""Windows over long texts: every label once, in training and in evaluation, whatever the sizes."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import batch_of, training_dataset
from tf_transformer.data.windows import EvaluationWindows, WindowPlan, evaluation_windows, slices_of

few = settings(max_examples=25, deadline=None, derandomize=True)
sizes = st.lists(st.integers(1, 40), min_size=1, max_size=4)


def labels_of(plan: WindowPlan, epoch: int) -> Counter[tuple[int, int]]:
    """How often each label, by text and place, is in an epoch."""
    return Counter(
        (int(row), int(place))
        for batch in plan.epoch(epoch)
        for row, start, size in zip(batch.rows, batch.starts, batch.sizes, strict=True)
        for place in range(start, start + size)
    )


def encoded(texts: list[list[int]]) -> EncodedCorpus:
    lengths = np.array([len(text) for text in texts], np.int64)
    zeros = np.zeros(len(texts), np.int64)
    ids = tf.ragged.constant(texts, tf.int32)
    return EncodedCorpus({"text": ids}, {"text": lengths}, zeros, zeros + 1, ())


@few
@given(lengths=sizes, window=st.integers(1, 13), batch_tokens=st.integers(1, 50), seed=st.integers(0, 99))
def test_an_epoch_has_every_label_once(lengths: list[int], window: int, batch_tokens: int, seed: int) -> None:
    plan = WindowPlan(np.array(lengths), window, batch_tokens, seed=seed)
    for epoch in (0, 3):
        expected = Counter((row, place) for row, length in enumerate(lengths) for place in range(length))
        assert labels_of(plan, epoch) == expected
        for batch in plan.epoch(epoch):
            assert batch.sizes.min() >= 1 and batch.sizes.max() <= window
            assert batch.tokens == batch.sizes.sum() <= max(batch_tokens, window)
            assert batch.lengths == {"text": window}
        counts = [len(batch.rows) for batch in plan.epoch(epoch)]
        assert max(counts) - min(counts) <= 1


def test_the_cuts_lie_elsewhere_in_each_epoch() -> None:
    plan = WindowPlan(np.array([1000]), 16, 64, seed=5)
    cuts = [frozenset(np.concatenate([b.starts for b in plan.epoch(e)]) % 16) - {0} for e in range(40)]
    assert all(len(cut) <= 1 for cut in cuts)
    assert len(set(cuts)) >= 12  # of 16 possible ones
    # A text that is one window stays whole.
    whole = WindowPlan(np.array([16]), 16, 64, seed=5)
    assert {tuple(whole.epoch(epoch)[0].sizes) for epoch in range(9)} == {(16,)}


def test_batches_are_a_function_of_seed_and_epoch() -> None:
    lengths = np.array([300, 200])

    def told(plan: WindowPlan, epoch: int) -> list[Any]:
        return [(b.rows.tolist(), b.starts.tolist(), b.sizes.tolist()) for b in plan.epoch(epoch)]

    plan = WindowPlan(lengths, 16, 64, seed=5)
    later = told(WindowPlan(lengths, 16, 64, seed=5), 7)
    assert told(plan, 7) == later
    for epoch in (0, 1, 2, 3, 4, 7):
        plan.epoch(epoch)
    assert told(plan, 7) == later
    assert told(plan, 6) != later != told(WindowPlan(lengths, 16, 64, seed=6), 7)
    assert plan.num_batches(7) == len(later) and plan.num_rows == 2
    assert plan.shapes == [{"text": 16}]
    # By hand: 500 labels in windows of 16, two of which are cut at the ends of each text.
    positions = 16 * sum(len(rows) for rows, *_ in told(plan, 0))
    assert plan.padding(0) == {"text": 1 - 500 / positions}


def test_the_digest_tells_what_differs() -> None:
    base: dict[str, Any] = {"lengths": np.array([300, 200]), "window": 16, "batch_tokens": 64, "seed": 5}
    changes: list[dict[str, Any]] = [
        {"lengths": np.array([300, 201])},
        {"window": 17},
        {"batch_tokens": 65},
        {"seed": 6},
        {"weights": [2.0]},
        {"corpora": np.array([0, 1])},
    ]
    digests = [WindowPlan(**{**base, **change}).digest() for change in ({}, *changes)]
    assert len(set(digests)) == len(digests)
    assert digests[0] == WindowPlan(**base).digest()


@pytest.mark.parametrize("weights", [(2.0, 1.0), (0.5, 1.0), (0.25, 0.0), (1.75, 0.4)])
def test_a_corpus_occurs_as_often_as_its_weight_says(weights: tuple[float, float]) -> None:
    lengths, corpora = np.array([400, 300, 200]), np.array([0, 1, 0])
    plan = WindowPlan(lengths, 10, 70, seed=3, corpora=corpora, weights=weights)
    epochs = 20  # a multiple of every denominator
    total: Counter[tuple[int, int]] = Counter()
    for epoch in range(epochs):
        labels = labels_of(plan, epoch)
        total += labels
        for corpus, size in ((0, 600), (1, 300)):
            found = sum(count for (row, _), count in labels.items() if corpora[row] == corpus)
            assert abs(found - weights[corpus] * size) <= 4 * 10  # some windows' worth
    for (row, _), count in total.items():
        assert count == Fraction(str(weights[corpora[row]])) * epochs
    assert len(total) == sum(lengths[row] for row in range(3) if weights[corpora[row]] > 0)


@few
@given(lengths=sizes, window=st.integers(1, 13), share=st.floats(0, 1), positions=st.integers(1, 60))
def test_in_evaluation_each_label_counts_once_and_has_its_context(
    lengths: list[int], window: int, share: float, positions: int
) -> None:
    stride = 1 + round(share * (window - 1))
    texts = [[100 * row + place + 5 for place in range(length)] for row, length in enumerate(lengths)]

    def assemble(text_ids: tf.RaggedTensor, text_length: int) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        labels = text_ids.to_tensor(shape=[None, text_length])
        return {"target_ids": tf.pad(labels[:, :-1], [[0, 0], [1, 0]], constant_values=2)}, labels

    batches = evaluation_windows(encoded(texts), window, stride, positions, assemble)
    counted: list[int] = []
    for inputs, labels in batches:
        given_ids, wanted = inputs["target_ids"].numpy(), labels.numpy()
        assert wanted.size <= max(positions, window)
        for row_ids, row_labels in zip(given_ids, wanted, strict=True):
            for place in np.flatnonzero(row_labels):
                label = int(row_labels[place])
                counted.append(label)
                before = (label - 5) % 100
                # The start, and the labels just before: all of them, or as many as the rule says.
                context = row_ids[: place + 1].tolist()
                assert context == [2, *range(label - place, label)]
                assert place >= min(before, window - stride)
                assert place == before or before >= window - stride
    assert sorted(counted) == sorted(label for text in texts for label in text)


def test_evaluation_windows_by_hand() -> None:
    def assemble(text_ids: tf.RaggedTensor, text_length: int) -> Any:
        return text_ids.to_tensor(shape=[None, text_length]), text_ids.to_tensor(shape=[None, text_length])

    batches = evaluation_windows(encoded([[11, 12, 13, 14, 15, 16, 17, 18], [21, 22]]), 4, 3, 100, assemble)
    assert isinstance(batches, EvaluationWindows) and len(batches) == 1
    inputs, labels = batches[0]
    # Windows begin at 0, 3 and 6; each counts what the one before it had not.
    assert inputs.numpy().tolist() == [[11, 12, 13, 14], [14, 15, 16, 17], [17, 18, 0, 0], [21, 22, 0, 0]]
    assert labels.numpy().tolist() == [[11, 12, 13, 14], [0, 15, 16, 17], [0, 18, 0, 0], [21, 22, 0, 0]]
    assert batches.batches[0][0].tokens == 10
    assert (batches.count(15), batches.count(22), batches.count(1)) == (1, 1, 0)


def test_slices_are_the_labels_of_windows() -> None:
    corpus = encoded([[11, 12, 13, 14, 15], [21, 22, 23]])
    plan = WindowPlan(corpus.lengths["text"], 2, 100, seed=1)
    batch = plan.epoch(0)[0]
    for row, start, size, found in zip(
        batch.rows,
        batch.starts,
        batch.sizes,
        slices_of(corpus.columns["text"], batch.rows, batch.starts, batch.sizes).to_list(),
        strict=True,
    ):
        assert found == [10 * (row + 1) + place + 1 for place in range(start, start + size)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window": 0}, r"`window` must be at least 1\. Received: 0"),
        ({"batch_tokens": 1.5}, r"`batch_tokens` must be a whole number, at least 1\. Received: 1\.5"),
        ({"seed": -1}, r"`seed` must be at least 0\. Received: -1"),
        ({"lengths": np.array([3, 0])}, r"`lengths` must be whole numbers, at least 1, one a text"),
        ({"lengths": np.zeros(0, int)}, r"`lengths` must be .*Received: int64 of shape \(0,\)"),
        ({"weights": [1.0, -1.0]}, r"`weights` must be a finite number, at least 0"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    base: dict[str, Any] = {"lengths": np.array([3, 5]), "window": 2, "batch_tokens": 9}
    with pytest.raises((TypeError, ValueError), match=message):
        WindowPlan(**{**base, **arguments})


def test_wrong_strides() -> None:
    for stride in (0, 5):
        with pytest.raises(ValueError, match=rf"`stride` must be from 1 to 4\. Received: {stride}"):
            evaluation_windows(encoded([[5]]), 4, stride, 9, lambda **_: ({}, tf.zeros([])))


def test_the_training_dataset_has_the_windows_of_the_plan() -> None:
    corpus = encoded([list(range(5, 40)), [51, 52, 53]])
    plan = WindowPlan(corpus.lengths["text"], 8, 20, seed=2)

    def assemble(text_ids: tf.RaggedTensor, text_length: tf.Tensor) -> tf.Tensor:
        return text_ids.to_tensor(shape=[None, 8]), text_length

    dataset = training_dataset(corpus, plan, assemble, (1, 1))
    expected = [*plan.epoch(1)[1:], *plan.epoch(2)]
    for batch, (ids, length) in zip(expected, dataset.as_numpy_iterator(), strict=False):
        found = slices_of(corpus.columns["text"], batch.rows, batch.starts, batch.sizes).to_tensor(
            shape=[None, 8]
        )
        np.testing.assert_array_equal(ids, found)
        assert length == 8
        np.testing.assert_array_equal(batch_of(corpus.columns, batch, assemble)[0], found)
