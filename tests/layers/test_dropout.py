"""Dropout by bytes: shares, expectation, reproducibility."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.layers.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_share_and_scale(rate: float) -> None:
    outputs = np.asarray(Dropout(rate, seed=3)(np.ones((200, 501), "float32"), training=True))
    zeros = np.mean(outputs == 0)
    # The rate is met to half a step of 1/256, the sample to four deviations.
    assert zeros == pytest.approx(rate, abs=1 / 512 + 4 * (rate * (1 - rate) / outputs.size) ** 0.5)
    assert outputs.mean() == pytest.approx(1, abs=0.02)
    assert len(np.unique(outputs)) == 2
    assert outputs.std(axis=0).min() > 0  # no column is always kept, whatever its byte of the word


def test_nothing_happens_unless_training_or_at_rate_0() -> None:
    inputs = np.ones((3, 5), "float32")
    np.testing.assert_array_equal(Dropout(0.5)(inputs), inputs)
    np.testing.assert_array_equal(Dropout(0.0)(inputs, training=True), inputs)
    assert Dropout(0.0).variables == []


def test_lengths_known_only_in_the_graph() -> None:
    dropout = Dropout(0.5, seed=3)
    compiled = tf.function(lambda x: dropout(x, training=True), input_signature=[tf.TensorSpec([None, None])])
    assert compiled(tf.ones((7, 5))).shape == (7, 5)
    assert compiled(tf.ones((2, 3))).shape == (2, 3)


def test_keras_global_seed_reproduces_it_and_calls_differ() -> None:
    def twice() -> list[np.ndarray]:
        keras.utils.set_random_seed(11)
        dropout = Dropout(0.5)
        return [np.asarray(dropout(np.ones((7, 13), "float32"), training=True)) for _ in range(2)]

    first, second = twice(), twice()
    np.testing.assert_array_equal(first, second)
    assert np.any(first[0] != first[1])
