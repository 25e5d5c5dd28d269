"""How much of a training its logging may take: a share of its time, and so many bytes an hour."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = 0.015
"""Of the time of a training, for everything that is drawn and written while it goes on."""
SECONDS_AT_ONCE = 1.0
"""Spent on points of curves before the share counts: they are cheap, and a short run shows them all."""
BYTES_AN_HOUR = 15e6
BYTES_AT_ONCE = 4e6
"""More for a first hour: what is written once, and short runs."""
KEPT_FOR_CURVES = 3e6
"""Bytes that pictures and histograms leave to curves and texts."""


class Allowance:
    """Keeps count of what logging has taken, and says whether there is room for more.

    Where there is none, points come less often. Pictures and histograms wait until their own share has come
    together, which takes the first half minute of a run.

    Args:
        elapsed: Seconds that the training has lasted, over all its pieces.
        written: Bytes that earlier pieces have written.
        share: Of the time; 1 for a test that wants everything.
    """

    def __init__(self, elapsed: Callable[[], float], written: int = 0, share: float = SHARE) -> None:
        self.elapsed = elapsed
        self.share = share
        self.written = float(written)
        # What earlier pieces took is not known: all that they might.
        self.seconds = share * elapsed()

    def has_room(self) -> bool:
        """Whether there is room for another point of the curves."""
        time_left = self.share * self.elapsed() + SECONDS_AT_ONCE - self.seconds
        return time_left > 0 and self._bytes_left() > 0

    def has_room_for(self, seconds: float, size: float) -> bool:
        """Whether there is room for something dear.

        Args:
            seconds: What it will take, about.
            size: Bytes of it, about.
        """
        time_left = self.share * self.elapsed() - self.seconds
        return time_left >= seconds and self._bytes_left() - KEPT_FOR_CURVES >= size

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Counts the time that the block takes."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - begin

    def _bytes_left(self) -> float:
        return BYTES_AT_ONCE + BYTES_AN_HOUR * self.elapsed() / 3600 - self.written
