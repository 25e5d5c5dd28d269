"""One draw: frequencies against probabilities worked out otherwise, and what may not be drawn."""

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.drawing import (
    completing_tokens,
    draw_tokens,
    penalize_repetition,
    seen_tokens,
    token_log_probabilities,
)
from tf_transformer.decoding.random_numbers import uniform_numbers

PROBABILITIES = np.array([0.05, 0.4, 0.1, 0.25, 0.2])
LOGITS = tf.constant(np.log(PROBABILITIES) + 3.0, tf.float32)


def drawn(numbers: Any, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> np.ndarray:
    numbers = tf.reshape(tf.cast(numbers, tf.float32), [1, -1])
    logits = tf.broadcast_to(LOGITS, [1, numbers.shape[1], 5])
    vectors = (tf.constant([temperature]), tf.constant([top_k]), tf.constant([top_p]))
    tokens, drawable = draw_tokens(logits, numbers, *vectors)
    assert np.all(drawable)
    return np.asarray(tokens[0])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, PROBABILITIES),
        # Squares of the probabilities, which sum to 0.275.
        ({"temperature": 0.5}, PROBABILITIES**2 / 0.275),
        ({"temperature": 2.0}, PROBABILITIES**0.5 / np.sum(PROBABILITIES**0.5)),
        ({"top_k": 2}, np.array([0, 0.4, 0, 0.25, 0]) / 0.65),
        ({"top_k": 99}, PROBABILITIES),
        # 0.4 + 0.25 does not have 0.7; with 0.2 it does.
        ({"top_p": 0.7}, np.array([0, 0.4, 0, 0.25, 0.2]) / 0.85),
        ({"top_p": 0.3}, np.array([0, 1.0, 0, 0, 0])),
        # Of the three first ones, 0.4 and 0.25 have a share of 0.65 / 0.85 = 0.765.
        ({"top_k": 3, "top_p": 0.75}, np.array([0, 0.4, 0, 0.25, 0]) / 0.65),
        # The temperature comes first: squares of 0.16, 0.0625, 0.04 of 0.275 have 0.955.
        ({"temperature": 0.5, "top_p": 0.9}, np.array([0, 0.16, 0, 0.0625, 0.04]) / 0.2625),
        ({"temperature": 0.0}, np.array([0, 1.0, 0, 0, 0])),
        ({"temperature": 1e-30}, np.array([0, 1.0, 0, 0, 0])),
    ],
)
def test_frequencies(options: dict[str, Any], expected: np.ndarray) -> None:
    # Numbers that lie evenly: each token gets its share but for one number at either end.
    even = np.bincount(drawn((np.arange(2000) + 0.5) / 2000, **options), minlength=5)
    np.testing.assert_allclose(even / 2000, expected, atol=0.0015)
    # Random ones: chi-square with 4 degrees of freedom, of which 1 in 10^4 is above 23.5.
    random = np.bincount(drawn(uniform_numbers(tf.constant([7], tf.int64), 20000, 0), **options), minlength=5)
    possible = expected > 0
    assert random[~possible].sum() == 0
    wanted = 20000 * expected[possible]
    assert ((random[possible] - wanted) ** 2 / wanted).sum() < 23.5


def test_each_text_has_its_own_options_and_equal_tokens_are_in_the_order_of_ids() -> None:
    logits = tf.zeros([3, 4, 5])
    numbers = tf.tile([[0.0, 0.3, 0.6, 0.9999999]], [3, 1])
    tokens, _ = draw_tokens(
        logits, numbers, tf.constant([1.0, 0.0, 1.0]), tf.constant([0, 0, 2]), tf.constant([1.0, 1.0, 1.0])
    )
    np.testing.assert_array_equal(tokens, [[0, 1, 3, 4], [0, 0, 0, 0], [0, 0, 1, 1]])


def test_what_has_no_probability_is_never_drawn_nor_is_anything_from_nothing() -> None:
    nothing = [-math.inf] * 3
    logits = tf.constant([[[-math.inf, 0.0, -math.inf], nothing, [0.0, math.nan, 0.0], [0.0, math.inf, 0.0]]])
    one = tf.constant([1.0])
    tokens, drawable = draw_tokens(logits, tf.fill([1, 4], 0.9999999), one, tf.constant([0]), one)
    np.testing.assert_array_equal(drawable, [[True, False, False, False]])
    assert tokens[0, 0] == 1


def test_log_probabilities_are_the_models_own() -> None:
    logits = tf.broadcast_to(LOGITS, [1, 2, 5])
    found = token_log_probabilities(logits, tf.constant([[1, 0]]))
    np.testing.assert_allclose(found, np.log([[0.4, 0.05]]), rtol=1e-5)


def test_repetition_is_made_less_likely_on_either_side_of_zero() -> None:
    logits = tf.constant([[[4.0, -4.0, 4.0, -4.0]]])
    seen = tf.constant([[[True, True, False, False]]])
    np.testing.assert_array_equal(penalize_repetition(logits, seen, 2.0), [[[2.0, -8.0, 4.0, -4.0]]])


def test_seen_tokens_are_those_before_the_place() -> None:
    ids = tf.constant([[[2, 4, 2, 0]], [[1, 3, 3, 3]]])
    np.testing.assert_array_equal(
        seen_tokens(ids, tf.constant(2), 5),
        [[[False, False, True, False, True]], [[False, True, False, True, False]]],
    )
    assert not np.any(seen_tokens(ids, tf.constant(0), 5))


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ([1, 2, 3, 1, 2], 3, [3]),
        ([1, 2, 3, 1, 2], 2, [3]),
        ([1, 2, 3, 1, 2], 1, [1, 2, 3]),
        ([1, 2, 1, 2, 4, 2], 2, [1, 4]),
        ([2, 2, 2], 3, [2]),
        ([2, 2], 3, []),
        ([1, 2], 4, []),
        ([], 2, []),
    ],
)
def test_completing_tokens(text: list[int], size: int, expected: list[int]) -> None:
    # The two texts, one with a place of padding behind it, are judged alike.
    ids = tf.constant([[text + [0] * (6 - len(text))] * 2])
    found = completing_tokens(ids, tf.constant(len(text)), size, 5)
    assert [np.flatnonzero(row).tolist() for row in found[0].numpy()] == [expected] * 2
