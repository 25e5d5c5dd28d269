"""A sample of training: evenly from all over, within its positions, the same each time."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.row_plan import RowPlan
from tf_transformer.data.training_sample import training_sample
from tf_transformer.data.windows import WindowPlan


def encoded(texts: list[list[int]]) -> EncodedCorpus:
    lengths = np.array([len(text) for text in texts], np.int64)
    zeros = np.zeros(len(texts), np.int64)
    ids = tf.ragged.constant(texts, tf.int32)
    return EncodedCorpus({"text": ids}, {"text": lengths}, zeros, zeros + 1, ())


def as_they_are(text_ids: tf.RaggedTensor, text_length: Any) -> list[list[int]]:
    assert max(map(len, text_ids.to_list())) <= int(text_length)
    return text_ids.to_list()


def test_rows_lie_evenly_and_fit() -> None:
    corpus = encoded([[row] * (1 + row % 3) for row in range(10)])
    plan: Any = None  # rows are chosen without one
    assert training_sample(corpus, plan, as_they_are, 4, 100) == [[0], [3], [6], [9]]
    assert training_sample(corpus, plan, as_they_are, 99, 100)[4:6] == [[4, 4], [5, 5, 5]]
    # Of three positions each, four fit into twelve; one always does.
    assert training_sample(corpus, plan, as_they_are, 99, 12) == [[0], [3], [6], [9]]
    assert len(training_sample(corpus, plan, as_they_are, 99, 1)) == 1


def test_long_texts_give_windows() -> None:
    corpus = encoded([list(range(1, 40))])
    plan = WindowPlan(corpus.lengths["text"], 8, 100, seed=5)
    windows = training_sample(corpus, plan, as_they_are, 99, 24)
    assert len(windows) == 3 and all(len(window) <= 8 for window in windows)
    assert windows == training_sample(corpus, plan, as_they_are, 99, 24)


def test_what_is_not_padded_is_taken_by_rows() -> None:
    zeros = np.zeros(9, np.int64)
    corpus = EncodedCorpus({"point": tf.range(9)}, {}, zeros, zeros + 1, ())
    rows = training_sample(corpus, RowPlan(9, 4, seed=1), lambda point: point.numpy().tolist(), 3, 4096)
    assert rows == [0, 4, 8]
