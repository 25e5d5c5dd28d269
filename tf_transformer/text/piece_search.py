"""Which pieces a vocabulary lacks most for some text, found by merging the pieces that it splits words into.

Byte-pair merging ("Neural Machine Translation of Rare Words with Subword Units", Sennrich et al., 2016) that
goes on where a vocabulary stands: words are not split into characters at first but into its own pieces, so
whatever is found can be reached from them, and what is well covered already is left alone.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

_LEAST = 2
"""Times that a new piece must be in the text."""


@dataclass(frozen=True)
class NewPiece:
    """A piece that was found.

    Args:
        spelling: The piece.
        parts: Those that it stands in place of; none for a character that the vocabulary lacks.
        times: How often it is in the text.
    """

    spelling: str
    parts: tuple[str, ...]
    times: int


class PieceSearch:
    """Finds new pieces, the best one first.

    Args:
        words: Different words, each split into pieces; a character that is no piece stands for itself.
        counts: How often each word is in the text.
        known: The pieces there are.
        join: Pieces that stand side by side to the piece in their place.
        may_be: Whether there may be such a piece.
        worth: How good it is to have a piece, which stands so often in place of these parts; nothing that is
            worth nothing is found.
        most_parts: How many pieces one may stand in place of at once.
    """

    def __init__(
        self,
        words: Iterable[Sequence[str]],
        counts: Iterable[int],
        known: Collection[str],
        join: Callable[[Sequence[str]], str],
        may_be: Callable[[str], bool],
        worth: Callable[[NewPiece], float],
        most_parts: int = 2,
    ) -> None:
        self._words = [list(word) for word in words]
        self._counts = list(counts)
        self._known = set(known)
        self._join, self._may_be, self._worth = join, may_be, worth
        self._most_parts = most_parts
        self._times: Counter[str] = Counter()
        self._places: dict[str, set[int]] = defaultdict(set)
        self._parts: dict[str, tuple[str, ...]] = {}
        self._queue: list[tuple[float, str]] = []
        noted: set[str] = set()
        for place in range(len(self._words)):
            noted |= self._note(place, 1)
        self._push(noted)

    def find(self, most: int) -> Iterator[NewPiece]:
        """The pieces that are worth most, in the order in which they are found.

        What is worth having may depend on those found before: the search goes on when the next one is asked
        for.

        Args:
            most: How many at most; there are fewer where nothing else is worth it, or there twice.
        """
        left = most
        while self._queue and left > 0:
            worth, piece = heapq.heappop(self._queue)
            found = self._candidate(piece)
            # What was noted of it since stands elsewhere in the queue.
            if piece in self._known or found.times < _LEAST or self._worth(found) != -worth:
                continue
            left -= 1
            yield found
            self._add(piece)

    def _candidate(self, piece: str) -> NewPiece:
        return NewPiece(piece, self._parts[piece], self._times[piece])

    def _push(self, pieces: Iterable[str]) -> None:
        for piece in sorted(pieces):
            candidate = self._candidate(piece)
            if candidate.times >= _LEAST and (worth := self._worth(candidate)) > 0:
                heapq.heappush(self._queue, (-worth, piece))

    def _runs(self, word: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """What could stand in a word in place of what there is."""
        for first, symbol in enumerate(word):
            if symbol not in self._known:
                yield symbol, ()
            for end in range(first + 1, min(first + self._most_parts, len(word)) + 1):
                if word[end - 1] not in self._known:
                    break
                if end - first > 1:
                    yield self._join(word[first:end]), tuple(word[first:end])

    def _note(self, place: int, sign: int) -> set[str]:
        """Counts in, or out, what could stand in a word; returns that."""
        noted = set()
        for piece, parts in self._runs(self._words[place]):
            if piece in self._known or not self._may_be(piece):
                continue
            self._times[piece] += sign * self._counts[place]
            if sign > 0:
                self._parts[piece] = parts
            (self._places[piece].add if sign > 0 else self._places[piece].discard)(place)
            noted.add(piece)
        return noted

    def _add(self, piece: str) -> None:
        """Makes a piece known, and puts it wherever it can stand."""
        noted: set[str] = set()
        places = sorted(self._places.pop(piece))
        for place in places:
            noted |= self._note(place, -1)
        self._known.add(piece)
        for place in places:
            self._words[place] = self._merged(self._words[place], piece)
            noted |= self._note(place, 1)
        self._push(noted - {piece})

    def _merged(self, word: list[str], piece: str) -> list[str]:
        merged: list[str] = []
        first = 0
        while first < len(word):
            ends = range(first + 2, min(first + self._most_parts, len(word)) + 1)
            end = next((end for end in ends if self._join(word[first:end]) == piece), first + 1)
            merged.append(piece if end > first + 1 else word[first])
            first = end
        return merged


def positions_saved(new: NewPiece) -> float:
    """How much shorter a text is with a piece; a character that is none is spelled in its bytes."""
    parts = len(new.parts) or len(new.spelling.encode()) + 1
    return float(new.times * (parts - 1))
