"""What all pictures share: colours that everybody can tell apart, and how much fits on a sheet."""

from itertools import cycle, islice

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Those of Okabe and Ito, "Color Universal Design" (2008), without yellow, which is too light for lines."""
LINES = ("-", "--", ":", "-.")
"""Where colours come again, the kind of line tells curves apart."""
SHARES, SIGNED, LIKENESS = "Blues", "PuOr", "cividis"
"""Maps of colours for shares from 0 to 1, for numbers on either side of 0, and for likeness."""
LARGEST = 40.0
"""Inches: a thousand labels are no reason for a picture that memory has no room for."""


def line_styles(count: int) -> list[tuple[str, str]]:
    """A colour and a kind of line for each of some curves, all different as long as there are any."""
    kinds = (kind for kind in LINES for _ in COLOURS)
    return list(islice(zip(cycle(COLOURS), cycle(kinds)), count))


def every(count: int, inches: float, points: float = 7.0) -> int:
    """How many labels in a row stand for one, so that they do not lie upon each other.

    Args:
        count: All labels.
        inches: The room that they have.
        points: How high one is.
    """
    room = max(int(inches * 72 / (points * 1.15)), 1)
    return -(-count // room)
