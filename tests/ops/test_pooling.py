"""Poolings by hand; padding never counts, and a row without any token is finite."""

import numpy as np
import tensorflow as tf
from keras import ops

from tf_transformer.ops.pooling import marked_states, masked_softmax, max_pool, mean_pool

STATES = np.array([[[1.0, -5.0], [3.0, -1.0], [98.0, 99.0]], [[np.nan, np.inf]] * 3], "float32")
MASK = np.array([[True, True, False], [False, False, False]])


def test_mean_and_max_of_real_positions() -> None:
    assert ops.convert_to_numpy(mean_pool(STATES, MASK)).tolist() == [[2.0, -3.0], [0.0, 0.0]]
    assert ops.convert_to_numpy(max_pool(STATES, MASK)).tolist() == [[3.0, -1.0], [0.0, 0.0]]
    assert ops.convert_to_numpy(mean_pool(STATES[:1])).tolist() == [[34.0, 31.0]]
    assert ops.convert_to_numpy(max_pool(STATES[:1])).tolist() == [[98.0, 99.0]]


def test_softmax_of_real_positions() -> None:
    scores = np.array([[0.0, np.log(3.0), 1e30], [5.0, 5.0, 5.0]], "float32")
    weights = ops.convert_to_numpy(masked_softmax(scores, MASK))
    np.testing.assert_allclose(weights, [[0.25, 0.75, 0.0], [0.0, 0.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(masked_softmax(scores[:, :2]), [[0.25, 0.75], [0.5, 0.5]], atol=1e-6)


def test_a_mean_is_taken_in_float32() -> None:
    # 3 times 30,000 overflows float16.
    states = np.full((1, 3, 1), 30_000, "float16")
    assert float(ops.cast(mean_pool(states), "float32")[0, 0]) == 30_000


def test_states_at_marks() -> None:
    states = np.arange(10, dtype="float32").reshape(1, 5, 2)
    marks = np.array([[0, 2, 0, 1, 2]])  # mark 2 twice: its first place counts; mark 3 nowhere
    assert ops.convert_to_numpy(marked_states(states, marks, 3)).tolist() == [[6, 7, 2, 3, 0, 0]]


def test_gradients_are_finite() -> None:
    states = tf.constant(np.where(np.isfinite(STATES), STATES, 0.0), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(states)
        total = sum(
            tf.reduce_sum(pooled)
            for pooled in (
                mean_pool(states, MASK),
                max_pool(states, MASK),
                masked_softmax(states[:, :, 0], MASK),
            )
        )
    gradient = tape.gradient(total, states).numpy()
    assert np.isfinite(gradient).all()
    assert not gradient[~MASK].any()
