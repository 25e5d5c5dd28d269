"""Random numbers that belong to a text and a place in it, and to nothing else.

TensorFlow's own generators take one seed for a whole tensor, so that what a text draws would depend on its
neighbours in the batch.
"""

from typing import Any

import tensorflow as tf

Tensor = Any

# SplitMix64, "Fast Splittable Pseudorandom Number Generators" (Steele, Lea and Flood, 2014), section 4 and
# its figures: a counter in steps of an odd constant, and a function that mixes its bits.
_STEP = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_DIGITS = 24  # of a float32


def uniform_numbers(seeds: Tensor, num_streams: int | Tensor, place: Tensor) -> Tensor:
    """One number from [0, 1) for each seed and stream, a pure function of seed, stream and place.

    Args:
        seeds: int64 `[B]`, any.
        num_streams: The number K of streams of each seed.
        place: Integer scalar: the how-manieth number of the streams, from 0.

    Returns:
        float32 `[B, K]`, multiples of 2^-24; the same on every device.
    """
    roots = _mixed(tf.bitcast(tf.cast(seeds, tf.int64), tf.uint64), 1)  # [B]
    streams = _mixed(roots[:, None], tf.range(1, num_streams + 1))  # [B, K]
    words = _mixed(streams, tf.cast(place, tf.int64) + 1)
    top = tf.bitwise.right_shift(words, tf.constant(64 - _DIGITS, tf.uint64))
    return tf.cast(tf.cast(top, tf.int32), tf.float32) * 2.0**-_DIGITS


def _mixed(state: Tensor, steps: Tensor) -> Tensor:
    """The word that the generator with this state gives after so many steps."""
    words = state + tf.cast(steps, tf.uint64) * tf.constant(_STEP, tf.uint64)
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        words = _folded(words, shift) * tf.constant(factor, tf.uint64)
    return _folded(words, 31)


def _folded(words: Tensor, shift: int) -> Tensor:
    return tf.bitwise.bitwise_xor(words, tf.bitwise.right_shift(words, tf.constant(shift, tf.uint64)))
