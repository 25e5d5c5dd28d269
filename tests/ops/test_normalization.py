"""Normalisations by hand, and their gradients against derived ones."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.ops.normalization import layer_norm, rms_norm

RNG = np.random.default_rng(7)


def test_by_hand() -> None:
    # Mean 4, deviations -3, -1, 1, 3: variance 5, and with an epsilon of 4 the divisor is 3.
    inputs = np.array([[1.0, 3.0, 5.0, 7.0]], "float32")
    gamma, beta = np.array([1.0, 1.0, 2.0, 3.0], "float32"), np.array([0.0, 1.0, 0.0, -3.0], "float32")
    outputs = layer_norm(inputs, gamma, beta, epsilon=4.0)
    np.testing.assert_allclose(outputs, [[-1.0, 2 / 3, 2 / 3, 0.0]], atol=1e-6)


def derived(inputs: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
    return (inputs - mean) / tf.sqrt(variance + 1e-5) * gamma + beta


@pytest.mark.parametrize("shape", [(5, 3, 7), (2, 7), (0, 3, 7)])
def test_the_gradient_is_the_derived_one(shape: tuple[int, ...]) -> None:
    inputs = tf.constant(RNG.normal(size=shape) * 3 + 2, tf.float32)
    gamma, beta = (tf.Variable(RNG.normal(size=(7,)), dtype=tf.float32) for _ in range(2))
    weights = tf.constant(RNG.normal(size=shape), tf.float32)
    gradients = []
    for function in (layer_norm, derived):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            total = tf.reduce_sum(function(inputs, gamma, beta) * weights)
        gradients.append(tape.gradient(total, [inputs, gamma, beta]))
    for ours, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_normalised_in_float32(dtype: str) -> None:
    # The squares of these overflow float16.
    inputs = tf.cast(tf.constant([[300.0, 500.0, 700.0]]), dtype)
    outputs = layer_norm(inputs, tf.ones(3), tf.zeros(3))
    assert keras.backend.standardize_dtype(outputs.dtype) == dtype
    np.testing.assert_allclose(tf.cast(outputs, "float32"), [[-1.2247, 0.0, 1.2247]], atol=1e-2)


def test_root_mean_squares_by_hand() -> None:
    # Squares 1, 9, 9, 1: mean 5, and with an epsilon of 4 the divisor is 3.
    inputs, gamma = np.array([[1.0, 3.0, -3.0, 1.0]], "float32"), np.array([1.0, 1.0, 2.0, 3.0], "float32")
    np.testing.assert_allclose(rms_norm(inputs, gamma, epsilon=4.0), [[1 / 3, 1.0, -2.0, 1.0]], atol=1e-6)
    half = rms_norm(tf.constant([[300.0, 500.0]], tf.float16), tf.ones(2))  # the squares overflow float16
    assert keras.backend.standardize_dtype(half.dtype) == "float16"
    np.testing.assert_allclose(tf.cast(half, "float32"), [[0.7276, 1.2127]], atol=1e-2)
    assert np.isfinite(rms_norm(tf.zeros((2, 3)), tf.ones(3))).all()


@pytest.mark.parametrize("shape", [(5, 3, 7), (0, 3, 7)])
def test_the_gradient_by_root_mean_squares_is_the_derived_one(shape: tuple[int, ...]) -> None:
    def plain(inputs: tf.Tensor, gamma: tf.Tensor) -> tf.Tensor:
        return inputs / tf.sqrt(tf.reduce_mean(inputs**2, -1, keepdims=True) + 1e-5) * gamma

    inputs = tf.constant(RNG.normal(size=shape) * 3 + 2, tf.float32)
    gamma = tf.Variable(RNG.normal(size=(7,)), dtype=tf.float32)
    weights = tf.constant(RNG.normal(size=shape), tf.float32)
    gradients = []
    for function in (rms_norm, plain):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            total = tf.reduce_sum(function(inputs, gamma) * weights)
        gradients.append(tape.gradient(total, [inputs, gamma]))
    for ours, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_equal_elements_stay_finite() -> None:
    inputs = tf.constant([[2.0, 2.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = layer_norm(inputs, tf.ones(3), tf.constant([1.0, 2.0, 3.0]))
    assert outputs.numpy().tolist() == [[1.0, 2.0, 3.0]]
    assert np.isfinite(tape.gradient(outputs, inputs)).all()
