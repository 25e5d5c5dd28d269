"""What a training looks like that cannot come to anything, told with the likely cause while it runs."""

from collections.abc import Callable
from typing import Any

import keras

from tf_transformer.callbacks.probe import Probe
from tf_transformer.callbacks.state import TrainingState

MOST_CHANGE = 0.15
"""Of the length of all weights, in one update: healthy ones change by 0.001 to 0.05 of it."""
POINTS = 5
"""Points of the curves in a row that show it before it is told: a schedule may begin with a leap."""
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

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        point = self.probe.point
        if point is None or "update/ratio" not in point:
            return
        ratio = point["update/ratio"]
        self._leaps = self._leaps + 1 if ratio > MOST_CHANGE else 0
        if self._leaps == POINTS:
            self._tell(
                "learning rate",
                f"update {self.state.step:,} changed the weights by {ratio:.0%} of their length, and so did "
                f"those before it (healthy: 0.1 % to 5 %): the learning rate, "
                f"{point['update/learning_rate']:.2g}, is probably too high; "
                "`tf-transformer plot lr-range` finds one",
            )

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
