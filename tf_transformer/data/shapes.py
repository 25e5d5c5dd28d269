"""A small fixed set of padded shapes for a whole run, chosen from the lengths of its corpus.

The rows of a corpus lie in a plane of two lengths. It is cut into strata along the first one; within a
stratum the second one gets levels. A shape is (upper edge of a stratum, level). Both are thinned out greedily
from the lengths that occur, always where the fewest padded positions are added.
"""

import heapq
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

IntArray = np.ndarray[Any, np.dtype[np.int64]]
SECOND_WEIGHT: Final = 0.5
"""What a padded position of the second column costs: the first (the target) also pays for its logits."""


def thin(groups: Sequence[tuple[IntArray, IntArray]], limit: int) -> list[IntArray]:
    """Levels that lengths are rounded up to, with as little padding as a greedy choice finds.

    Args:
        groups: For each group its lengths (ascending, distinct) and how often each occurs.
        limit: Levels in all; every group keeps at least its greatest length.

    Returns:
        For each group the lengths that are left as levels, ascending.
    """
    heap: list[tuple[float, int, int, int]] = []
    chains = [_Chain(lengths, counts) for lengths, counts in groups]
    for group, chain in enumerate(chains):
        for place in range(len(chain.lengths) - 1):
            heapq.heappush(heap, (chain.cost(place), group, place, 0))
    left = sum(len(chain.lengths) for chain in chains)
    while left > limit and heap:
        _, group, place, version = heapq.heappop(heap)
        chain = chains[group]
        if version != chain.versions[place]:
            continue  # its neighbours have changed, and a newer entry stands in the heap
        left -= 1
        for changed in chain.remove(place):
            heapq.heappush(heap, (chain.cost(changed), group, changed, chain.versions[changed]))
    return [chain.lengths[chain.present] for chain in chains]


class _Chain:
    """Lengths in a doubly linked list: one that is removed hands its rows to the next greater one."""

    def __init__(self, lengths: IntArray, counts: IntArray) -> None:
        self.lengths = lengths
        self.present = np.ones(len(lengths), bool)
        self.versions = [0] * len(lengths)
        self._counts = [int(count) for count in counts]
        self._next = list(range(1, len(lengths) + 1))
        self._before = list(range(-1, len(lengths) - 1))

    def cost(self, place: int) -> float:
        """Padded positions that come on top when a length is rounded up to the next one."""
        return float(self._counts[place] * (self.lengths[self._next[place]] - self.lengths[place]))

    def remove(self, place: int) -> list[int]:
        """Take a length out; the places whose cost has changed (the greatest has none)."""
        before, after = self._before[place], self._next[place]
        self.present[place] = False
        self.versions[place] = -1
        self._counts[after] += self._counts[place]
        self._before[after] = before
        if before >= 0:
            self._next[before] = after
        changed = [at for at in (before, after) if 0 <= at < len(self.lengths) - 1]
        for at in changed:
            self.versions[at] += 1
        return changed


def stratum_edges(lengths: IntArray, num_strata: int) -> IntArray:
    """Cut lengths into strata.

    Args:
        lengths: A length of each row, int64 `[rows]`.
        num_strata: Most strata.

    Returns:
        The greatest length of each stratum, ascending; int64.
    """
    distinct, counts = np.unique(lengths, return_counts=True)
    return thin([(distinct, counts)], num_strata)[0]


class ShapeGrid:
    """The shapes that batches are padded to.

    Args:
        edges: Upper edge of each stratum, ascending.
        first: Greatest first length of each batch seen so far, int64 `[batches]`.
        second: Greatest second length of each, int64 `[batches]`; zeros where there is none.
        sizes: Rows of each, int64 `[batches]`.
        greatest: Greatest first and second length of all rows, so that one shape holds any batch.
        max_shapes: Most shapes.

    Attributes:
        shapes: All shapes, int64 `[shapes, 2]`, ascending.
    """

    def __init__(
        self,
        edges: IntArray,
        first: IntArray,
        second: IntArray,
        sizes: IntArray,
        greatest: tuple[int, int],
        max_shapes: int,
    ) -> None:
        uppers = np.minimum(edges[np.searchsorted(edges, first)], greatest[0])
        groups = []
        for upper in np.unique(uppers):
            levels, place = np.unique(second[uppers == upper], return_inverse=True)
            groups.append((levels, np.bincount(place, weights=sizes[uppers == upper]).astype(np.int64)))
        kept = zip(np.unique(uppers), thin(groups, max_shapes - 1), strict=True)
        shapes = {(int(upper), int(level)) for upper, levels in kept for level in levels}
        self.shapes = np.array(sorted({*sorted(shapes)[: max_shapes - 1], greatest}), np.int64)

    def cover(self, first: IntArray, second: IntArray) -> IntArray:
        """The cheapest shape that holds each pair of lengths, int64 `[pairs, 2]`."""
        fits = (self.shapes[:, 0] >= first[:, None]) & (self.shapes[:, 1] >= second[:, None])
        cost = self.shapes[:, 0] + SECOND_WEIGHT * self.shapes[:, 1]
        chosen: IntArray = self.shapes[np.where(fits, cost, np.inf).argmin(axis=1)]
        return chosen
