"""Embeddings of another system in the order of our ids."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tf_transformer.importing.imported import NEVER, Array


@dataclass(frozen=True)
class Rows:
    """Which row of their table each of our ids has.

    Args:
        padding: Their row of padding.
        unknown: Likewise.
        start: The token that targets begin with.
        end: Likewise.
        pieces: Of the other pieces, in the order of our ids.
        lacking: How many pieces follow that they have no row for, and read as unknown.
    """

    padding: int
    unknown: int
    start: int
    end: int
    pieces: Sequence[int]
    lacking: int = 0

    @property
    def numbers(self) -> list[int]:
        """Their row for each of our ids."""
        first = (self.padding, self.unknown, self.start, self.end)
        return [*first, *self.pieces, *[self.unknown] * self.lacking]

    def table(self, theirs: Array) -> Array:
        """Our table `[V, D]` out of theirs."""
        return theirs[self.numbers]

    def bias(self, theirs: Array) -> Array:
        """Our bias of logits `[V]` out of theirs: what they have no logit of its own for has next to none."""
        ours = np.array(theirs, np.float32)[self.numbers]
        numbers = np.array(self.numbers)
        repeated = np.ones(len(numbers), bool)
        repeated[np.unique(numbers, return_index=True)[1]] = False
        return np.where(repeated, ours + NEVER, ours)
