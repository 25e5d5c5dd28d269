"""Random numbers of a text and a place: by another formula, independent of neighbours, uniform."""

import numpy as np
import tensorflow as tf

from tf_transformer.decoding.random_numbers import uniform_numbers

WORD = 2**64


def word(state: int, steps: int) -> int:
    """SplitMix64 in plain integers: the word after so many steps from a state."""
    value = (state + steps * 0x9E3779B97F4A7C15) % WORD
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % WORD
    return value ^ (value >> 31)


def test_numbers_are_those_of_plain_integers() -> None:
    assert word(1234567, 1) == 6457827717110365317  # published with the generator
    seeds = [0, 1, 7 << 32, -3]
    for place in (0, 1, 1000):
        found = uniform_numbers(tf.constant(seeds, tf.int64), 3, place).numpy()
        expected = [
            [(word(word(word(seed % WORD, 1), stream), place + 1) >> 40) / 2**24 for stream in (1, 2, 3)]
            for seed in seeds
        ]
        np.testing.assert_array_equal(found, np.array(expected, "float32"))
        assert found.dtype == np.float32 and found.min() >= 0 and found.max() < 1


def test_neither_neighbours_nor_later_streams_matter() -> None:
    together = uniform_numbers(tf.constant([5, 6, 7], tf.int64), 5, 2)
    np.testing.assert_array_equal(uniform_numbers(tf.constant([6], tf.int64), 2, 2)[0], together[1, :2])
    assert len(np.unique(together)) == 15


def test_they_are_uniform_along_every_axis() -> None:
    # 256 of each of 64 parts expected; 63 degrees of freedom: 1 in 10^4 is above 111.
    draws = {
        "seeds": uniform_numbers(tf.range(16384, dtype=tf.int64), 1, 3),
        "streams": uniform_numbers(tf.constant([9], tf.int64), 16384, 3),
        "places": tf.stack([uniform_numbers(tf.constant([9], tf.int64), 64, place) for place in range(256)]),
    }
    for name, numbers in draws.items():
        counts = np.bincount((np.ravel(numbers) * 64).astype(int), minlength=64)
        assert ((counts - 256) ** 2 / 256).sum() < 111, name
    lagged = np.corrcoef(np.ravel(draws["places"])[:-64], np.ravel(draws["places"])[64:])[0, 1]
    assert abs(lagged) < 0.03  # four deviations
