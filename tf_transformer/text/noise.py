"""Random numbers that a seed decides alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np


class Noise:
    """Uniform numbers, the same for a seed on every machine.

    Args:
        seed: Whole numbers of at least 0.
    """

    def __init__(self, seed: Sequence[int]) -> None:
        # Raw output of a bit generator is what NumPy promises to keep over its versions.
        self._generator = np.random.PCG64(np.random.SeedSequence(list(seed)))

    def uniform(self, *shape: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The next numbers, at least 0 and less than 1."""
        words: np.ndarray[Any, np.dtype[np.uint64]] = self._generator.random_raw(shape)
        return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
