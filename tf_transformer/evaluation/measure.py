"""By which figure one checkpoint is better than another."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measure:
    """What the best checkpoint is chosen by.

    Args:
        name: A figure of the validation, such as ``"val_bleu"``.
        higher_is_better: False for losses.
    """

    name: str
    higher_is_better: bool

    def ranked(self, steps: Iterable[int], rows: Iterable[Mapping[str, Any]]) -> list[int]:
        """Steps from the worst to the best; of equal ones the later is better, and no figure is worst.

        Args:
            steps: Validated ones.
            rows: The lines of ``metrics.jsonl``.
        """
        sign = 1 if self.higher_is_better else -1
        figures = {row["step"]: sign * row[self.name] for row in rows if row.get(self.name) is not None}
        return sorted(steps, key=lambda step: (figures.get(step, -math.inf), step))

    def improves(self, value: float, best: float | None) -> bool:
        """Whether ``value`` is better than the best so far; never for NaN."""
        if value != value:
            return False
        return best is None or (value > best if self.higher_is_better else value < best)
