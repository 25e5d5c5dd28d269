"""The learning rate falls when validation gets no better, and may rise while it does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from tf_transformer.callbacks.state import TrainingState
from tf_transformer.errors import counted


@dataclass(frozen=True)
class PlateauRules:
    """How validations change the rate.

    Args:
        factor: What the rate is multiplied by on a plateau, below 1.
        patience: Validations in a row without a better one that make a plateau; as many again the next one.
        lowest: Share of the schedule's rate that it does not fall below.
        rise: What the rate is multiplied by at each validation that is better than the best before; 1 for
            never.
        highest: Share of the schedule's rate that it does not rise above.
    """

    factor: float
    patience: int
    lowest: float
    rise: float
    highest: float


class Plateau(keras.callbacks.Callback):
    """Changes `rate_factor` of the training model, which is a variable and part of each checkpoint.

    It stands after `Validation` and before `Checkpointing` in the list, so that the checkpoint of a
    validation holds the factor that the validation led to. All else it goes by is in the state: what
    continues from that checkpoint does as if it had never stopped.

    Args:
        state: Read; what `Validation` wrote into it.
        rules: When to act.
        report: Told of each change: its kind and one line.
    """

    def __init__(self, state: TrainingState, rules: PlateauRules, report: Callable[[str, str], None]) -> None:
        super().__init__()
        self.state = state
        self.rules = rules
        self.report = report
        self._seen, self._has_best = state.validated, state.best is not None

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self.state.validated == self._seen:
            return
        had_best = self._has_best
        self._seen, self._has_best = self.state.validated, self.state.best is not None
        now = float(self.model.rate_factor.numpy())
        wanted, why = self._wanted(now, had_best)
        wanted = float(np.float32(wanted))  # as the variable will have it
        if wanted != now:
            self.model.rate_factor.assign(wanted)
            kind = "rate raised" if wanted > now else "rate lowered"
            self.report(kind, f"{why} at update {self.state.step:,}: the learning rate times {wanted:g}")

    def _wanted(self, now: float, had_best: bool) -> tuple[float, str]:
        state, rules = self.state, self.rules
        if state.waited == 0:
            # The first validation is the best so far and yet no better than another one. A rate that
            # something else has put beyond a limit is not pulled back to it.
            wanted = max(now, min(now * rules.rise, rules.highest)) if had_best else now
            return wanted, "validation got better"
        if state.waited % rules.patience:
            return now, ""
        wanted = min(now, max(now * rules.factor, rules.lowest))
        return wanted, f"no better in {counted(state.waited, 'validation')}"
