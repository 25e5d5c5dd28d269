"""Segmentations by a unigram model, drawn for many words at a time.

Each word's lattice of pieces is gone through forwards once, for the sum of P(x)^alpha over all ways to each
of its places. Backwards from the end, each way into a place has a share of its sum, by which one is drawn
(forward filtering and backward sampling: Kudo, 2018, section 3.3).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tf_transformer.text.noise import Noise
from tf_transformer.text.sentencepiece_model import UNKNOWN_PENALTY

IntArray = np.ndarray[Any, np.dtype[np.int64]]

_BEGINNING = -1


class UnigramSampling:
    """Draws segmentations of words.

    Args:
        words: The different words.
        symbols: The number of every piece and of every character.
        scores: The logarithm of the probability of every piece.
        alpha: The exponent of a segmentation's probability.
    """

    def __init__(
        self,
        words: Sequence[str],
        symbols: Mapping[str, int],
        scores: Mapping[str, float],
        alpha: float,
    ) -> None:
        self._symbols = symbols
        self._weights = {piece: alpha * score for piece, score in scores.items()}
        self._unknown = alpha * (min(scores.values(), default=0.0) - UNKNOWN_PENALTY)
        self._longest = max(map(len, scores), default=1)
        # A node is a place in a word that is not its beginning; the ways into it stand side by side.
        self._num_nodes = 0
        bounds: list[float] = []
        ways: list[tuple[int, int]] = []
        self._last: Any = []
        self._ends = np.array([self._add(word, bounds, ways) for word in words], np.int64)
        self._last = np.array(self._last, np.int64)
        self._bounds = np.array(bounds)  # of each way: the node's number + the shares up to it
        self._pieces, self._origins = np.array(ways, np.int64).reshape(-1, 2).T

    def _add(self, word: str, bounds: list[float], ways: list[tuple[int, int]]) -> int:
        """Adds the lattice of a word; returns its last node."""
        sums, first = [0.0], self._num_nodes
        for end in range(1, len(word) + 1):
            found = []
            for start in range(max(0, end - self._longest), end):
                piece = word[start:end]
                weight = self._weights.get(piece, self._unknown if end - start == 1 else None)
                if weight is not None:
                    origin = first + start - 1 if start else _BEGINNING
                    found.append((sums[start] + weight, self._symbols[piece], origin))
            most = max(value for value, *_ in found)
            total = most + math.log(sum(math.exp(value - most) for value, *_ in found))
            sums.append(total)
            share = float(self._num_nodes)
            for value, symbol, origin in found:
                share += math.exp(value - total)
                bounds.append(share)
                ways.append((symbol, origin))
            self._last.append(len(ways) - 1)
            self._num_nodes += 1
        return self._num_nodes - 1

    def draw(self, occurrences: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        """Segments words.

        Args:
            occurrences: Places of words, int64 `[occurrences]`.
            noise: Where random numbers come from.

        Returns:
            The symbols of all of them one after the other, and how many each has: int64.
        """
        rows, nodes = np.arange(len(occurrences)), self._ends[occurrences]
        sizes = np.zeros(len(occurrences), np.int64)
        steps: list[tuple[IntArray, IntArray]] = []
        while len(rows):
            wanted = nodes + noise.uniform(len(nodes))
            way = np.minimum(np.searchsorted(self._bounds, wanted, side="right"), self._last[nodes])
            steps.append((rows, self._pieces[way]))
            sizes[rows] += 1
            inside = self._origins[way] != _BEGINNING
            rows, nodes = rows[inside], self._origins[way[inside]]
        ends = np.cumsum(sizes)
        drawn = np.zeros(int(sizes.sum()), np.int64)
        for number, (rows, pieces) in enumerate(steps, start=1):
            drawn[ends[rows] - number] = pieces
        return drawn, sizes
