"""Masks of any lengths: what they let through, and that attention takes nothing from where they do not."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tf_transformer.ops.attention import dot_product_attention
from tf_transformer.ops.masks import causal_mask, combine_masks, expand_mask, padding_mask

few = settings(max_examples=25, deadline=None, derandomize=True)
lengths = st.lists(st.integers(0, 7), min_size=1, max_size=5)
seeds = st.integers(0, 2**16)


def ids_of(lengths: list[int], width: int) -> np.ndarray:
    """Rows of so many tokens, 3 and further, and zeros up to the width."""
    places = np.arange(width)
    return np.where(places < np.array(lengths)[:, None], places + 3, 0).astype("int32")


def random_mask(seed: int, batch: int, queries: int, keys: int) -> np.ndarray:
    return np.random.default_rng(seed).random((batch, 1, queries, keys)) < 0.5


@few
@given(lengths=lengths, more=st.integers(0, 5))
def test_padding_is_hidden_and_nothing_else(lengths: list[int], more: int) -> None:
    mask = ops.convert_to_numpy(padding_mask(ids_of(lengths, 7 + more)))
    assert mask.shape == (len(lengths), 1, 1, 7 + more) and mask.dtype == bool
    assert mask.sum(axis=-1)[:, 0, 0].tolist() == lengths
    assert (mask[:, 0, 0] == (np.arange(7 + more) < np.array(lengths)[:, None])).all()


@few
@given(length=st.integers(0, 17))
def test_each_position_sees_one_more_than_the_one_before(length: int) -> None:
    mask = ops.convert_to_numpy(causal_mask(length))
    assert mask.shape == (1, 1, length, length)
    assert mask[0, 0].sum(axis=-1).tolist() == list(range(1, length + 1))
    assert (mask[0, 0] | mask[0, 0].T).all() and np.diag(mask[0, 0]).all()


@few
@given(lengths=lengths, seed=seeds, order=st.permutations(range(4)))
def test_masks_combine_in_any_order_to_what_all_let_through(
    lengths: list[int], seed: int, order: list[int]
) -> None:
    padding = padding_mask(ids_of(lengths, 7))
    drawn = random_mask(seed, len(lengths), 7, 7)
    masks = [padding, causal_mask(7), drawn, None]
    expected = ops.convert_to_numpy(padding) & ops.convert_to_numpy(causal_mask(7)) & drawn
    for chosen in (order, order + order):
        combined = combine_masks(*(masks[place] for place in chosen))
        np.testing.assert_array_equal(combined, expected)
    np.testing.assert_array_equal(expand_mask(expected), expected)


@few
@given(seed=seeds, batch=st.integers(1, 3), queries=st.integers(1, 5), keys=st.integers(2, 7))
def test_attention_takes_nothing_from_masked_keys(seed: int, batch: int, queries: int, keys: int) -> None:
    rng = np.random.default_rng(seed)
    mask = random_mask(seed, batch, queries, keys)
    mask[..., 0] = True  # no query without a key
    query, key, value = (
        rng.normal(size=(batch, 2, length, 3)).astype("float32") for length in (queries, keys, keys)
    )
    outputs, weights = dot_product_attention(query, key, value, mask)
    assert not np.asarray(weights)[~np.broadcast_to(mask, weights.shape)].any()
    np.testing.assert_allclose(np.asarray(weights).sum(axis=-1), 1.0, rtol=1e-5)
    # A key that one query may not see is changed, for all queries: that query must not notice.
    seen = mask[:, 0, 0, :, None][:, None]  # [B, 1, S, 1]
    noise = rng.normal(size=key.shape).astype("float32") * 9.0
    changed = dot_product_attention(query, np.where(seen, key, noise), np.where(seen, value, noise), mask)[0]
    np.testing.assert_array_equal(np.asarray(changed)[:, :, 0], np.asarray(outputs)[:, :, 0])
