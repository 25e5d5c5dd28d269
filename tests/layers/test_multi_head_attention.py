"""Multi-head attention against Keras' own layer, and what masks and dropout must not do."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import MultiHeadAttention

RNG = np.random.default_rng(7)
QUERY = RNG.normal(size=(2, 5, 6)).astype("float32")
KEY = RNG.normal(size=(2, 7, 11)).astype("float32")
VALUE = RNG.normal(size=(2, 7, 13)).astype("float32")
MASK = RNG.random((2, 5, 7)) < 0.6
CAUSAL = np.tril(np.ones((1, 5, 5), bool))


def randomise(layer: keras.layers.Layer) -> None:
    layer.set_weights([RNG.normal(size=weight.shape) for weight in layer.get_weights()])


def keras_twin(layer: MultiHeadAttention, *inputs: np.ndarray) -> keras.layers.MultiHeadAttention:
    """Keras' layer with the same weights: there `[D, H, d]`, here `[D, H*d]`."""
    twin = keras.layers.MultiHeadAttention(3, key_dim=2, value_dim=5, output_shape=layer.output_dim)
    query, key, value = inputs
    twin(query, value, key)
    own = layer.get_weights()
    twin.set_weights(
        [weight.reshape(other.shape) for weight, other in zip(own, twin.get_weights(), strict=True)]
    )
    return twin


def test_equals_keras_with_three_different_inputs() -> None:
    layer = MultiHeadAttention(3, key_dim=2, value_dim=5, output_dim=17)
    layer(QUERY, KEY, VALUE)
    randomise(layer)
    outputs, weights = layer(QUERY, KEY, VALUE, attention_mask=MASK, return_attention_scores=True)
    expected, expected_weights = keras_twin(layer, QUERY, KEY, VALUE)(
        QUERY, VALUE, KEY, attention_mask=MASK, return_attention_scores=True
    )
    np.testing.assert_allclose(weights, expected_weights, atol=1e-6)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_equals_keras_as_self_attention() -> None:
    layer = MultiHeadAttention(3, key_dim=2, value_dim=5)
    layer(QUERY)
    randomise(layer)
    expected = keras_twin(layer, QUERY, QUERY, QUERY)(QUERY, QUERY, QUERY, attention_mask=CAUSAL)
    np.testing.assert_allclose(layer(QUERY, attention_mask=CAUSAL), expected, atol=1e-5)
    np.testing.assert_allclose(layer(QUERY, QUERY + 0, attention_mask=CAUSAL), expected, atol=1e-5)


def test_masked_keys_do_not_matter() -> None:
    layer = MultiHeadAttention(3, key_dim=2)
    padding = np.array([[True] * 4 + [False] * 3] * 2)
    changed = np.where(padding[:, :, None], KEY, 100 * KEY)
    np.testing.assert_array_equal(
        layer(QUERY, KEY, attention_mask=padding), layer(QUERY, changed, attention_mask=padding)
    )


def test_causal_stays_exact_under_dropout_and_scores_are_those_before_it() -> None:
    layer = MultiHeadAttention(3, dropout=0.5, seed=3)
    outputs, weights = layer(QUERY, attention_mask=CAUSAL, return_attention_scores=True, training=True)
    weights = ops.convert_to_numpy(weights)
    assert np.all(np.triu(weights, 1) == 0)
    np.testing.assert_allclose(weights.sum(-1), np.ones((2, 3, 5)), rtol=1e-6)
    quiet, same = layer(QUERY, attention_mask=CAUSAL, return_attention_scores=True)
    np.testing.assert_allclose(weights, same, rtol=1e-6)
    assert np.any(ops.convert_to_numpy(outputs) != ops.convert_to_numpy(quiet))
    # The same random numbers again, with another future: the past does not notice.
    changed = np.concatenate([QUERY[:, :3], 10 * QUERY[:, 3:]], axis=1)
    first, second = (MultiHeadAttention(3, dropout=0.5, seed=3) for _ in range(2))
    options = {"attention_mask": CAUSAL, "training": True, "return_attention_scores": True}
    (before, scores), (after, changed_scores) = first(QUERY, **options), second(changed, **options)
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    np.testing.assert_array_equal(scores[:, :, :3], changed_scores[:, :, :3])
    assert np.any(ops.convert_to_numpy(before[:, 3:] != after[:, 3:]))


def test_the_initial_kernels() -> None:
    layer = MultiHeadAttention(3, seed=3)
    layer.build((None, None, 300))
    query, key, output = layer.query_kernel, layer.key_kernel, layer.output_kernel
    # Xavier: the bound is sqrt(6 / (300 + 300)) = 0.1; half the variance for queries, keys and values.
    assert np.abs(ops.convert_to_numpy(output)).max() == pytest.approx(0.1, rel=0.001)
    assert np.abs(ops.convert_to_numpy(query)).max() == pytest.approx(0.1 * 0.5**0.5, rel=0.001)
    assert np.any(ops.convert_to_numpy(query) != ops.convert_to_numpy(key))


def test_all_masked_is_finite_in_half_precision() -> None:
    layer = MultiHeadAttention(3, dtype="mixed_float16")
    outputs = layer(100 * QUERY, attention_mask=np.zeros((2, 5), bool))
    assert np.all(np.isfinite(ops.convert_to_numpy(outputs)))


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"must be divisible by `num_heads`.*hidden_dim=6, num_heads=4"):
        MultiHeadAttention(4).build((None, None, 6))
    with pytest.raises(ValueError, match=r"`value` needs its `key`. Received: key=None"):
        MultiHeadAttention(3)(QUERY, value=VALUE)
    with pytest.raises(ValueError, match=r"`num_heads` must be a positive integer. Received: num_heads=2.5"):
        MultiHeadAttention(2.5)  # type: ignore[arg-type]
