"""What a training looks like that cannot come to anything, told with the likely cause while it runs."""

from collections import deque
from collections.abc import Callable
from typing import Any

import keras

from tf_transformer.callbacks.probe import Probe
from tf_transformer.callbacks.state import TrainingState

MOST_CHANGE = 0.15
"""Of the length of all weights, in one update: healthy ones change by 0.001 to 0.05 of it."""
MOST_GROWTH = 2.0
"""Times that the weights may grow within ``POINTS``; healthy ones grow by a few parts in ten.

Adam's steps are as long as the rate says, whatever the gradient is: where that is too long, weights grow
until steps are short beside them, and what they held is lost."""
POINTS = 5
"""Points of the curves, 100 updates by default."""
SEEN, BLIND = 0.9, (10.0, 40.0)
"""Share of tokens that are right when all before them are given, from which on translations with a BLEU and
a chrF below the other two numbers cannot be."""
KNOWN = 1.02
"""Perplexity of a language model that no text has which is not known beforehand."""


class Symptoms(keras.callbacks.Callback):
    """Tells of each symptom once in a run of the command.

    Args:
        state: Read for the step.
        probe: Has the figures of updates; stands before this in the list.
        report: Told of each: its kind and one line.
    """

    def __init__(self, state: TrainingState, probe: Probe, report: Callable[[str, str], None]) -> None:
        super().__init__()
        self.state = state
        self.probe = probe
        self.report = report
        self._told: set[str] = set()
        self._leaps = 0
        self._lengths: deque[float] = deque(maxlen=POINTS + 1)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        if self.probe.changes is not None:
            self._lengths.append(self.probe.changes.length)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        point = self.probe.point
        if point is None or "update/ratio" not in point:
            return
        ratio, length = point["update/ratio"], point["update/weights"]
        self._leaps = self._leaps + 1 if ratio > MOST_CHANGE else 0
        self._lengths.append(length)
        rate = point["update/learning_rate"]
        cause = (
            f"the learning rate, now {rate:.2g}, is probably too high; "
            "`tf-transformer plot lr-range` finds one"
        )
        growth = length / max(self._lengths[0], 1e-12)
        if growth > MOST_GROWTH:
            updates = self.probe.every * (len(self._lengths) - 1)
            line = (
                f"the weights have grown to {growth:.1f} times their length within {updates} updates: {cause}"
            )
            self._tell("learning rate", f"at update {self.state.step:,}, {line}")
        elif self._leaps == POINTS:
            healthy = "(healthy: 0.1 % to 5 %)"
            line = f"each update changes the weights by {ratio:.0%} of their length {healthy}: {cause}"
            self._tell("learning rate", f"at update {self.state.step:,}, {line}")

    def on_validation(self, record: dict[str, Any], outcome: Any) -> None:
        """Looks at the figures of the first dev set."""
        right, bleu = record.get("val_accuracy", 0.0), record.get("val_bleu", BLIND[0])
        if right >= SEEN and bleu < BLIND[0] and record.get("val_chrf", 0.0) < BLIND[1]:
            self._tell(
                "future seen",
                f"given the reference, {right:.0%} of dev's tokens are right, and without it translations "
                f"have a BLEU of {bleu:.1f}: the model sees the tokens that it is to predict. The causal "
                "mask of the target is probably missing",
            )
        cost = record.get("val_nats_per_token")
        if cost is not None and record["val_perplexity"] < KNOWN:
            self._tell(
                "future seen",
                f"the dev text has a perplexity of {record['val_perplexity']:.3f}, which no new text has: "
                "the model sees what it is to predict (a causal mask is missing), or dev is part of train",
            )

    def _tell(self, symptom: str, line: str) -> None:
        if symptom not in self._told:
            self._told.add(symptom)
            self.report("warning", line)
