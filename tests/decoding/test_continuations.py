"""The largest entries by chunks, equal to `tf.math.top_k` down to ties and padding."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.continuations import best_continuations, largest


@pytest.mark.parametrize(("size", "k"), [(2, 3), (7, 3), (997, 1), (1024, 3), (1009, 5)])
@pytest.mark.parametrize("distinct", [4, 10**6])  # few different values make many ties
def test_largest_is_top_k(size, k, distinct):
    values = np.random.default_rng(size).integers(0, distinct, size=(2, 3, size)).astype("float32")
    found, ids = largest(tf.constant(values), k)
    expected = tf.math.top_k(values, min(k, size))
    np.testing.assert_array_equal(found, expected.values)
    np.testing.assert_array_equal(ids, expected.indices)


def test_largest_without_a_known_size():
    function = tf.function(
        lambda values: largest(values, 5), input_signature=[tf.TensorSpec([None, None])], autograph=False
    )
    values = np.random.default_rng(3).normal(size=(3, 4)).astype("float32")
    np.testing.assert_array_equal(function(values)[1], np.argsort(-values, axis=-1))


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_never_points_into_the_padding(bad):
    values = np.full((3, 1009), bad, "float32")
    values[1] = 1.0
    _, ids = largest(tf.constant(values), 5)
    assert (ids.numpy() < 1009).all()
    np.testing.assert_array_equal(ids[1], range(5))


@pytest.mark.parametrize("size", [11, 1009])
def test_log_probabilities_are_those_of_the_whole_vocabulary(size):
    logits = np.random.default_rng(size).normal(size=(2, 3, size)) * 9.0 + 50.0
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    forbidden = (int(logits[0, 0].argmax()), 4)
    found, ids = best_continuations(tf.constant(logits, tf.float32), 5, forbidden)
    expected = np.where(
        np.isin(ids, forbidden), -np.inf, np.take_along_axis(log_probabilities, ids.numpy(), -1)
    )
    np.testing.assert_allclose(found, expected, atol=2e-5)
    log_probabilities[..., list(forbidden)] = -np.inf
    best = np.sort(log_probabilities, axis=-1)[..., : -5 - 1 : -1]
    np.testing.assert_allclose(np.sort(found, axis=-1)[..., : -5 - 1 : -1], best, atol=2e-5)
