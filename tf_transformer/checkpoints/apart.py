"""What a run has learnt beyond the weights that it began with: small where it went through adapters.

Where W is a weight and W0 what it began as, one of these is kept under the weight's path:

    path:a, path:b    thin matrices with W = W0 + a b, where they are smaller than W
    path:d            W - W0
    path:w            W itself, where there is no W0 of its shape

and nothing where W is W0.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]

EXACT = 1e-6
"""How far a joined weight may be from what it was, as a share of its largest number."""


def taken_apart(weights: Arrays, start: Arrays) -> dict[str, npt.NDArray[Any]]:
    """The difference between weights and those that they began as.

    Args:
        weights: By path.
        start: By path.

    Returns:
        Arrays by path and kind; see the module.
    """
    found: dict[str, npt.NDArray[Any]] = {}
    for path, weight in weights.items():
        before = start.get(path)
        if before is None or before.shape != weight.shape:
            found[f"{path}:w"] = weight
        elif not np.array_equal(before, weight):
            difference = weight - before
            thin = _thin(difference, EXACT * float(np.abs(weight).max())) if weight.ndim == 2 else None
            if thin is None:
                found[f"{path}:d"] = difference
            else:
                found[f"{path}:a"], found[f"{path}:b"] = thin
    return found


def joined(parts: Arrays, start: Arrays) -> dict[str, npt.NDArray[Any]]:
    """The weights that ``taken_apart`` took apart.

    Raises:
        ValueError: When they are of other weights than `start`.
    """
    found = dict(start)
    for name, part in parts.items():
        path, _, kind = name.rpartition(":")
        if kind == "w":
            found[path] = part
        elif kind in ("a", "d") and path in start:
            found[path] = start[path] + (part if kind == "d" else part @ parts[f"{path}:b"])
        elif kind != "b":
            raise ValueError(f"{path} is no weight of the run that it began from")
    return found


def _thin(matrix: npt.NDArray[Any], allowed: float) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    """Two thin matrices whose product is a matrix, up to so much in a number; None where they are larger."""
    rows, columns = matrix.shape
    left, sizes, right = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
    most = (rows * columns - 1) // (rows + columns)  # the greatest rank that is smaller
    for rank in range(1, most + 1):
        # A rest of m n numbers up to r has no singular value above r sqrt(m n).
        if sizes[rank:].size and sizes[rank] > allowed * (rows * columns) ** 0.5:
            continue
        first, second = left[:, :rank] * sizes[:rank], right[:rank]
        if float(np.abs(matrix - first @ second).max()) <= allowed:
            return first.astype(matrix.dtype), second.astype(matrix.dtype)
    return None
