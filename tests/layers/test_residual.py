"""Pre-norm and post-norm by hand."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import Residual


def doubling() -> keras.layers.Layer:
    return keras.layers.Rescaling(2.0)


# [1, 3] has mean 2 and deviation 1: its norm is [-1, 1].
INPUTS = np.array([[[1.0, 3.0]]], "float32")


def test_post_norm() -> None:
    # x + 2x = [3, 9], normalised [-1, 1]
    np.testing.assert_allclose(Residual(doubling(), norm="post")(INPUTS), [[[-1, 1]]], atol=1e-4)


def test_pre_norm() -> None:
    # x + 2 norm(x) = [1, 3] + [-2, 2]
    np.testing.assert_allclose(Residual(doubling(), norm="pre")(INPUTS), [[[-1, 5]]], atol=1e-4)


def test_a_scale_weighs_the_shortcut() -> None:
    # 3 x + 2 norm(x) = [3, 9] + [-2, 2]; and 2 x + [4, 0] = [6, 6], which has no deviation
    np.testing.assert_allclose(Residual(doubling(), norm="pre", scale=3.0)(INPUTS), [[[1, 11]]], atol=1e-4)
    constant = keras.layers.Rescaling(0.0, offset=np.array([4.0, 0.0], "float32"))
    np.testing.assert_allclose(Residual(constant, norm="post", scale=2.0)(INPUTS), [[[0, 0]]], atol=1e-4)
    with pytest.raises(ValueError, match=r"`scale` must be a finite number, at least 0\. Received: -1"):
        Residual(doubling(), scale=-1.0)


def test_dropout_hits_the_layer_and_not_the_shortcut() -> None:
    inputs = np.tile(INPUTS, (1, 50, 1))
    outputs = ops.convert_to_numpy(Residual(doubling(), norm="pre", dropout=0.5)(inputs, training=True))
    # each element keeps its shortcut alone, or gets twice the layer's -+2 on top
    values = np.unique(np.round(outputs, 2))
    assert values.tolist() == [-3.0, 1.0, 3.0, 7.0]


def test_statistics_are_float32_in_half_precision() -> None:
    # Squares of these overflow float16.
    inputs = np.array([[[300.0, 900.0]]], "float16")
    outputs = Residual(doubling(), norm="post", dtype="mixed_float16")(inputs)
    np.testing.assert_allclose(ops.cast(outputs, "float32"), [[[-1, 1]]], atol=1e-3)


def test_unknown_norm() -> None:
    with pytest.raises(ValueError, match=r"`norm` must be one of 'pre', 'post'. Received: norm='both'"):
        Residual(doubling(), norm="both")
