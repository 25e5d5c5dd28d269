"""Which examples go together where all of them are answered."""

from typing import Any

import numpy as np


def batches_by_length(lengths: np.ndarray[Any, Any], positions: int) -> list[np.ndarray[Any, Any]]:
    """Row numbers in batches of similar length, at most ``positions`` padded positions each.

    Args:
        lengths: ``[N]`` integers.
        positions: Upper bound of rows times longest row; a longer single row is a batch by itself.
    """
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, positions // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches
