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


def test_heads_that_share_keys_are_heads_whose_keys_are_equal() -> None:
    query = RNG.normal(size=(2, 6, 5, 7)).astype("float32")
    key, value = (RNG.normal(size=(2, 3, 11, width)).astype("float32") for width in (7, 13))
    mask = RNG.random((2, 6, 5, 11)) < 0.6
    outputs, weights = dot_product_attention(query, key, value, mask)
    expected = dot_product_attention(query, key.repeat(2, 1), value.repeat(2, 1), mask)
    assert outputs.shape == (2, 6, 5, 13) and weights.shape == (2, 6, 5, 11)
    np.testing.assert_allclose(outputs, expected[0], atol=1e-6)
    np.testing.assert_allclose(weights, expected[1], atol=1e-6)


def test_penalties_and_ways_change_what_is_not_masked() -> None:
    # d = 1 and scores q k: the penalty ln 2 halves the second weight, 1 : 1 becomes 2 : 1.
    query, key, value = np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 3, 1)), np.array([[[[3.0], [6.0], [9.0]]]])
    penalties, mask = np.log([[[1.0, 2.0, 1.0]]]), np.array([[[[True, True, False]]]])
    outputs, weights = dot_product_attention(*map(np.float32, (query, key, value)), mask, penalties=penalties)
    np.testing.assert_allclose(weights, [[[[2 / 3, 1 / 3, 0]]]], rtol=1e-6)
    np.testing.assert_allclose(outputs, [[[[4.0]]]], rtol=1e-6)
    nowhere, _ = dot_product_attention(
        *map(np.float32, (query, key, value)), np.zeros_like(mask), penalties=1000 * penalties
    )
    np.testing.assert_allclose(nowhere, [[[[6.0]]]])  # the mean still
    # A query of 1, and ways that add ln 3 to the first key and 1 to each value: 3 : 1, and 3.75 + 1.
    ways = np.log([[[3.0], [1.0], [1.0]]]), np.ones((1, 3, 1))
    given = (*map(np.float32, (query + 1, key, value)), mask)
    outputs, weights = dot_product_attention(*given, between=tuple(map(np.float32, ways)))
    np.testing.assert_allclose(weights, [[[[0.75, 0.25, 0]]]], rtol=1e-6)
    np.testing.assert_allclose(outputs, [[[[4.75]]]], rtol=1e-6)


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
