"""Which rows an epoch has: those of each corpus, as often as it weighs."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tf_transformer.data.random_words import random_words
from tf_transformer.data.shapes import IntArray


def rows_of_epoch(parts: Sequence[tuple[IntArray, Fraction]], seed: int, epoch: int) -> IntArray:
    """The rows of an epoch, each as often as the weight of its corpus says.

    Args:
        parts: The rows of each corpus, and how often an epoch takes them.
        seed: Of the permutation that a part of a corpus is taken from.
        epoch: Number of the epoch, from 0.
    """
    chosen = []
    for index, (rows, weight) in enumerate(parts):
        start, end = int(epoch * weight * len(rows)), int((epoch + 1) * weight * len(rows))
        if weight.denominator > 1:  # walk round and round one permutation
            rows = rows[np.argsort(random_words(seed, "part", index, len(rows)), kind="stable")]
        chosen.append(rows[np.arange(start, end) % max(len(rows), 1)])
    return np.concatenate(chosen)
