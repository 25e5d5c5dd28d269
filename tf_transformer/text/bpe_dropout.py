"""BPE-dropout for many words at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tf_transformer.text.noise import Noise

IntArray = np.ndarray[Any, np.dtype[np.int64]]

_NONE = np.iinfo(np.int32).max
_WORDS_AT_ONCE = 1 << 15


class BpeDropout:
    """Merges the symbols of words, best pair first, each pair of each step left out with a probability.

    Args:
        words: The different words, each split into characters at first.
        symbols: The number of every piece and of every character.
        scores: The score of every piece; a pair with a higher one is merged earlier.
        alpha: The probability.
    """

    def __init__(
        self,
        words: Sequence[str],
        symbols: Mapping[str, int],
        scores: Mapping[str, float],
        alpha: float,
    ) -> None:
        self._alpha = alpha
        self._base = max(symbols.values(), default=0) + 1
        order = sorted(scores, key=lambda piece: (-scores[piece], symbols[piece]))
        self._merged = np.array([symbols[piece] for piece in order], np.int64)
        pairs = {
            symbols[piece[:cut]] * self._base + symbols[piece[cut:]]: rank
            for rank, piece in enumerate(order)
            for cut in range(1, len(piece))
            if piece[:cut] in symbols and piece[cut:] in symbols
        }
        self._pairs = np.array(sorted(pairs), np.int64)
        self._ranks = np.array([pairs[pair] for pair in self._pairs.tolist()], np.int32)
        self._lengths = np.array([len(word) for word in words], np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._letters = np.array([symbols[letter] for word in words for letter in word], np.int64)

    def draw(self, occurrences: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        """Segments words.

        Args:
            occurrences: Places of words, int64 `[occurrences]`.
            noise: Where random numbers come from.

        Returns:
            The symbols of all of them one after the other, and how many each has: int64.
        """
        parts: list[tuple[IntArray, IntArray]] = []
        lengths = self._lengths[occurrences]
        order = np.argsort(lengths, kind="stable")
        borders = np.flatnonzero(np.diff(lengths[order])) + 1
        for places in np.split(order, borders) if len(order) else []:
            for start in range(0, len(places), _WORDS_AT_ONCE):
                chosen = places[start : start + _WORDS_AT_ONCE]
                letters = self._starts[occurrences[chosen]][:, None] + np.arange(lengths[chosen[0]])
                parts += [(chosen[rows], found) for rows, found in self._merge(self._letters[letters], noise)]
        sizes = np.zeros(len(occurrences), np.int64)
        for places, found in parts:
            sizes[places] = found.shape[1]
        starts = np.cumsum(sizes) - sizes
        drawn = np.zeros(int(sizes.sum()), np.int64)
        for places, found in parts:
            drawn[starts[places][:, None] + np.arange(found.shape[1])] = found
        return drawn, sizes

    def _merge(self, symbols: IntArray, noise: Noise) -> list[tuple[IntArray, IntArray]]:
        """Merges a pair of each word a step; rows and symbols of words as they get ready."""
        ready = []
        rows = np.arange(len(symbols))
        ranks = self._rank(symbols[:, :-1], symbols[:, 1:])
        while symbols.shape[1] > 1:
            kept = np.where(noise.uniform(*ranks.shape) < self._alpha, _NONE, ranks)
            place = kept.argmin(axis=1)
            best = kept[np.arange(len(rows)), place]
            go_on = best < _NONE
            ready.append((rows[~go_on], symbols[~go_on]))
            rows, place, best = rows[go_on], place[go_on], best[go_on]
            symbols, ranks = self._after(symbols[go_on], ranks[go_on], place, self._merged[best])
        return [*ready, (rows, symbols)]

    def _after(
        self, symbols: IntArray, ranks: Any, place: IntArray, merged: IntArray
    ) -> tuple[IntArray, Any]:
        """Symbols `[rows, n]` and ranks of pairs `[rows, n - 1]`, each one shorter, when a pair is merged."""
        every, num = np.arange(len(symbols)), symbols.shape[1]
        columns = np.arange(num - 1)
        symbols = np.take_along_axis(symbols, columns + (columns > place[:, None]), axis=1)
        symbols[every, place] = merged
        columns = columns[:-1]
        ranks = np.take_along_axis(ranks, columns + (columns >= place[:, None]), axis=1)
        for left in (place - 1, place):  # the two pairs that the new symbol stands in
            there = (left >= 0) & (left < num - 2)
            row, at = every[there], left[there]
            ranks[row, at] = self._rank(symbols[row, at], symbols[row, at + 1])
        return symbols, ranks

    def _rank(self, left: IntArray, right: IntArray) -> Any:
        """The rank of each pair, int32; `_NONE` where it is not to be merged."""
        if not len(self._pairs):
            return np.full(left.shape, _NONE, np.int32)
        wanted = left * self._base + right
        found = np.minimum(np.searchsorted(self._pairs, wanted), len(self._pairs) - 1)
        return np.where(self._pairs[found] == wanted, self._ranks[found], np.int32(_NONE))
