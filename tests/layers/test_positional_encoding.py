"""Positions as a layer: kinds, limits, starts."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tf_transformer.layers import PositionalEncoding
from tf_transformer.ops.positions import sinusoidal_positions

ZEROS = np.zeros((2, 5, 6), "float32")


def test_sinusoids_are_added_from_any_start_and_without_end() -> None:
    encoding = PositionalEncoding("sinusoidal")
    np.testing.assert_array_equal(encoding(ZEROS)[1], sinusoidal_positions(ops.arange(5), 6))
    np.testing.assert_array_equal(
        encoding(ZEROS, start=ops.convert_to_tensor(9000))[0], sinusoidal_positions(9000 + ops.arange(5), 6)
    )
    assert encoding.weights == []


def test_far_sinusoids_are_exact_in_half_precision() -> None:
    exact = PositionalEncoding("sinusoidal")(np.zeros((1, 4096, 64), "float32"))
    half = PositionalEncoding("sinusoidal", dtype="mixed_float16")(np.zeros((1, 4096, 64), "float16"))
    assert half.dtype.name == "float16"
    np.testing.assert_allclose(ops.cast(half, "float32"), exact, atol=1e-3)


def test_no_positions() -> None:
    np.testing.assert_array_equal(PositionalEncoding("none")(ZEROS + 3), ZEROS + 3)


def test_learned_positions_end_with_an_error_everywhere() -> None:
    encoding = PositionalEncoding("learned", max_length=7, seed=3)
    table = encoding(np.zeros((1, 7, 6), "float32"))[0]
    np.testing.assert_array_equal(encoding(ZEROS, start=ops.convert_to_tensor(2))[1], table[2:])
    with pytest.raises(ValueError, match=r"longer than the `max_length`.*length=8, max_length=7"):
        encoding(np.zeros((1, 8, 6), "float32"))
    compiled = tf.function(encoding, input_signature=[tf.TensorSpec([None, None, 6])])
    np.testing.assert_array_equal(compiled(ZEROS)[0], table[:5])
    with pytest.raises(tf.errors.InvalidArgumentError):
        compiled(np.zeros((1, 8, 6), "float32"))
    with pytest.raises(tf.errors.InvalidArgumentError):
        encoding(ZEROS, start=ops.convert_to_tensor(3))


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match=r"`kind` must be one of 'sinusoidal', .*Received: kind='round'"):
        PositionalEncoding("round")
    with pytest.raises(ValueError, match=r"need the argument `max_length`. Received: max_length=None"):
        PositionalEncoding("learned")
    with pytest.raises(ValueError, match=r"`dropout` must be at least 0 .*Received: dropout=1.0"):
        PositionalEncoding("none", dropout=1.0)
