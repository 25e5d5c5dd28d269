"""Random numbers of a training's data: the same for the same key on every machine and in every version."""

from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint64]]


def random_words(seed: int, purpose: str, number: int, size: int) -> Words:
    """Random words. Raw output of a bit generator is what NumPy promises to keep over its versions.

    Args:
        seed: The seed of the training.
        purpose: What they are for; other purposes get other words.
        number: Which ones of that purpose, such as the number of an epoch.
        size: How many.

    Returns:
        uint64 `[size]`.
    """
    key = [seed, number, *purpose.encode("ascii")]
    return np.random.PCG64(np.random.SeedSequence(key)).random_raw(size)
