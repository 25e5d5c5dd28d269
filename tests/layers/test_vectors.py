"""Vectors of any features: standardised, projected, placed, and masked behind their end."""

import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import VectorEmbedding
from tf_transformer.ops.positions import sinusoidal_positions


def test_features_are_standardised_before_the_projection() -> None:
    layer = VectorEmbedding(2, mean=[1.0, 10.0], deviation=[2.0, 5.0], positions="none")
    layer.build((None, None, 2))
    layer.set_weights([np.array([[1.0, 0.0], [0.0, 3.0]], "float32"), np.array([0.0, 0.5], "float32")])
    # (5 - 1) / 2 = 2; (5 - 10) / 5 = -1, times 3, and 0.5
    np.testing.assert_allclose(layer(np.array([[[5.0, 5.0]]], "float32"))[0, 0], [2.0, -2.5])


def test_each_vector_has_its_place() -> None:
    placed, plain = (VectorEmbedding(6, positions=kind, seed=1) for kind in ("sinusoidal", "none"))
    inputs = np.ones((1, 5, 3), "float32")
    np.testing.assert_allclose(
        placed(inputs)[0] - plain(inputs)[0], sinusoidal_positions(ops.arange(5), 6), atol=1e-6
    )


def test_the_mask_ends_with_each_sequence() -> None:
    layer, inputs = VectorEmbedding(4), np.zeros((2, 3, 1), "float32")
    lengths = np.array([3, 1], "int32")
    mask = ops.convert_to_numpy(layer.padding_mask(inputs, lengths))
    assert mask.tolist() == [[True] * 3, [True, False, False]]
    assert layer.padding_mask(inputs) is None
    assert {name: int(count) for name, count in layer.counts(inputs, lengths).items()} == {
        "source_vectors": 4,
        "source_positions": 6,
    }


def test_another_number_of_means_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`mean` must be one number, or one for each of 3 .*: 2 numbers"):
        VectorEmbedding(4, mean=[0.0, 1.0]).build((None, None, 3))
