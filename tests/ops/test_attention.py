"""Scaled dot-product attention and the reshapings around it, with numbers worked out by hand."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.ops.attention import dot_product_attention, merge_heads, project, split_heads

RNG = np.random.default_rng(11)


def test_weights_by_hand() -> None:
    # d = 4, so scores are halved: q.k = 2 ln 3 and 0 give exp = 3 and 1, weights 3/4 and 1/4.
    query = np.array([[[[2 * np.log(3), 0, 0, 0]]]], "float32")
    key = np.array([[[[1, 0, 0, 0], [0, 1, 0, 0]]]], "float32")
    value = np.array([[[[4.0], [8.0]]]], "float32")
    outputs, weights = dot_product_attention(query, key, value)
    np.testing.assert_allclose(weights, [[[[0.75, 0.25]]]], rtol=1e-6)
    np.testing.assert_allclose(outputs, [[[[5.0]]]], rtol=1e-6)


def test_a_masked_key_might_as_well_not_be_there() -> None:
    query = RNG.normal(size=(2, 3, 5, 7)).astype("float32")
    key = RNG.normal(size=(2, 3, 11, 7)).astype("float32")
    value = RNG.normal(size=(2, 3, 11, 13)).astype("float32")
    mask = np.arange(11)[None, None, None, :] < 8
    outputs, weights = dot_product_attention(query, key, value, mask)
    without, _ = dot_product_attention(query, key[:, :, :8], value[:, :, :8])
    np.testing.assert_allclose(outputs, without, atol=1e-6)
    assert np.all(ops.convert_to_numpy(weights)[..., 8:] == 0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_query_that_may_attend_nowhere_gets_a_mean(dtype: str) -> None:
    query, key = (ops.convert_to_tensor(RNG.normal(size=(1, 1, 2, 3)), dtype) for _ in range(2))
    value = ops.convert_to_tensor([[[[2.0], [4.0]]]], dtype)
    outputs, _ = dot_product_attention(query, key, value, np.zeros((1, 1, 1, 2), bool))
    assert keras.backend.standardize_dtype(outputs.dtype) == dtype
    assert ops.convert_to_numpy(ops.cast(outputs, "float32")).tolist() == [[[[3.0], [3.0]]]]


def test_dropout_touches_what_is_used_and_not_what_is_returned() -> None:
    query, key, value = (RNG.normal(size=(1, 1, 3, 5)).astype("float32") for _ in range(3))
    outputs, weights = dot_product_attention(query, key, value, dropout=ops.zeros_like)
    assert np.all(ops.convert_to_numpy(outputs) == 0)
    np.testing.assert_allclose(ops.sum(weights, axis=-1), np.ones((1, 1, 3)), rtol=1e-6)


def test_a_single_key_gets_all_the_weight() -> None:
    query, key, value = (RNG.normal(size=(2, 3, 1, 5)).astype("float32") for _ in range(3))
    outputs, weights = dot_product_attention(query, key, value)
    assert np.all(ops.convert_to_numpy(weights) == 1)
    np.testing.assert_allclose(outputs, value)


def test_heads_are_neighbouring_columns() -> None:
    inputs = np.arange(2 * 3 * 10).reshape(2, 3, 10)
    heads = ops.convert_to_numpy(split_heads(inputs, 5))
    assert heads.shape == (2, 5, 3, 2)
    assert heads[1, 4, 2].tolist() == inputs[1, 2, 8:].tolist()
    np.testing.assert_array_equal(merge_heads(split_heads(inputs, 5)), inputs)


def test_projection_of_any_rank() -> None:
    inputs, kernel = (
        RNG.normal(size=(2, 3, 5, 7)).astype("float32"),
        RNG.normal(size=(7, 11)).astype("float32"),
    )
    bias = RNG.normal(size=11).astype("float32")
    np.testing.assert_allclose(project(inputs, kernel, bias), inputs @ kernel + bias, atol=1e-5)
