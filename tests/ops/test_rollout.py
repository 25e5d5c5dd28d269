"""Attention followed through blocks, worked out by hand."""

import numpy as np
import pytest

from tf_transformer.ops.rollout import attention_rollout, patch_relevance

# One picture, two heads, two positions; the heads' mean is [[0.5, 0.5], [0, 1]].
FIRST = np.array([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]], "float32")
SECOND = np.array([[[[0.0, 1.0], [1.0, 0.0]]] * 2], "float32")


def test_one_block_is_half_identity_half_the_mean_of_its_heads() -> None:
    np.testing.assert_allclose(attention_rollout([FIRST])[0], [[0.75, 0.25], [0.0, 1.0]])


def test_later_blocks_are_multiplied_from_the_left() -> None:
    # [[0.5, 0.5], [0.5, 0.5]] @ [[0.75, 0.25], [0, 1]]
    np.testing.assert_allclose(attention_rollout([FIRST, SECOND])[0], [[0.375, 0.625], [0.375, 0.625]])


def test_rows_sum_to_one() -> None:
    logits = np.random.default_rng(3).normal(size=(4, 2, 3, 5, 5))
    weights = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    np.testing.assert_allclose(np.sum(attention_rollout(list(weights)), axis=-1), 1.0, atol=1e-6)


def test_no_block_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`weights` must be those of one block at least. Received: none"):
        attention_rollout([])


ROLLOUT = np.array([[[0.4, 0.1, 0.2, 0.3], *[[0.25] * 4] * 3]], "float32")  # a class token and three patches


def test_a_class_token_is_left_out_of_its_own_row() -> None:
    relevance = patch_relevance(ROLLOUT, np.array([1.0, 0.0, 0.0, 0.0]), (1, 3))
    np.testing.assert_allclose(relevance, [[[1 / 6, 2 / 6, 3 / 6]]], atol=1e-6)


def test_a_mean_weighs_all_rows_alike() -> None:
    square = np.array(
        [[[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.3, 0.3, 0.3, 0.1]]]
    )
    relevance = patch_relevance(square, np.full(4, 0.25), (2, 2))
    np.testing.assert_allclose(relevance, [[[0.3, 0.3], [0.3, 0.1]]], atol=1e-6)


def test_weights_may_differ_between_pictures() -> None:
    pooling = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    relevance = patch_relevance(np.concatenate([ROLLOUT, ROLLOUT]), pooling, (3, 1))
    np.testing.assert_allclose(relevance[:, :, 0], [[1 / 3] * 3, [1 / 6, 2 / 6, 3 / 6]], atol=1e-6)
