"""What a training looks like that cannot come to anything, told with the likely cause while it runs."""

from collections import deque
from collections.abc import Callable, Iterable
from math import log
from typing import Any

import keras

from tf_transformer.callbacks.probe import Probe
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.evaluation import Evaluated, Outcome
from tf_transformer.evaluation.signs import Sign, batch_signs, mask_sign

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
NEAR_UNIFORM = 0.02
"""How near, as a share of it, the loss is to the logarithm of the vocabulary where nothing is learnt."""
STILL = 25
"""Points that it stays there, 500 updates by default: what is learnt first, how frequent each label is, takes
few tens."""
FROZEN = 1e-5
"""Of the length of all weights, in one update: such weights stand still."""
KNOWN = 1.02
"""Perplexity of a language model that no text has which is not known beforehand."""


CAUSES = {"labels", "shift", "learning rate", "future seen", "not learning"}
"""Symptoms that explain what answers look like."""
MASK = "the causal mask of the target is probably missing"


class Symptoms(keras.callbacks.Callback):
    """Tells of each symptom once in a run of the command.

    Args:
        state: Read for the step.
        probe: Has the figures of updates; stands before this in the list.
        report: Told of each: its kind and one line.
        batch: A batch of training, ``(inputs, labels)``; None where there is none to look at.
        answering: The model that is validated.
        signs: What the answers of a validation say, see `Evaluator.signs`.
    """

    def __init__(
        self,
        state: TrainingState,
        probe: Probe,
        report: Callable[[str, str], None],
        batch: Callable[[], Any] | None = None,
        answering: Any = None,
        signs: Callable[[Evaluated], Iterable[Sign]] = lambda evaluated: (),
    ) -> None:
        super().__init__()
        self.state = state
        self.probe = probe
        self.report = report
        self.batch = batch
        self.answering = answering
        self.signs = signs
        self._told: set[str] = set()
        self._before: set[str] = set()
        self._leaps = self._still = 0
        self._lengths: deque[float] = deque(maxlen=POINTS + 1)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        if self.probe.changes is not None:
            self._lengths.append(self.probe.changes.length)
        if self.batch is not None:
            for sign in batch_signs(self.model.model, *self.batch()):
                self._tell(sign.name, f"of a batch of training, {sign.line}")

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        point = self.probe.point
        if point is None or "update/ratio" not in point:
            return
        self._watch_weights(point)
        if "quality/loss" in point:
            self._watch_loss(point)

    def _watch_weights(self, point: dict[str, float]) -> None:
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

    def _watch_loss(self, point: dict[str, float]) -> None:
        """Tells of a loss that is what a model has which finds everything equally likely."""
        size = num_outputs(self.model.model)
        if size is None or size < 2:
            return
        near = abs(point["quality/loss"] / log(size) - 1) < NEAR_UNIFORM
        self._still = self._still + 1 if near else 0
        if self._still != STILL:
            return
        ratio, rate = point["update/ratio"], point["update/learning_rate"]
        cause = "labels have probably nothing to do with inputs; train with --overfit-one-batch tells more"
        if ratio < FROZEN:
            cause = (
                f"updates change next to nothing: the learning rate, now {rate:.2g}, is too low so far, or "
                "weights are frozen"
            )
        elif ratio > MOST_CHANGE:
            cause = f"the learning rate, now {rate:.2g}, is probably too high"
        self._tell(
            "not learning",
            f"at update {self.state.step:,}, the loss has been {log(size):.2f}, the logarithm of the "
            f"{size:,} possible labels, for {STILL * self.probe.every} updates: nothing is learnt; {cause}",
        )

    def on_validation(self, record: dict[str, Any], outcome: Outcome | None) -> None:
        """Looks at the figures of the first dev set, and at its answers."""
        right, bleu = record.get("val_accuracy", 0.0), record.get("val_bleu", BLIND[0])
        if right >= SEEN and bleu < BLIND[0] and record.get("val_chrf", 0.0) < BLIND[1]:
            self._future_seen(
                f"given the reference, {right:.0%} of dev's tokens are right, and without it translations "
                f"have a BLEU of {bleu:.1f}"
            )
        cost = record.get("val_nats_per_token")
        if cost is not None and record["val_perplexity"] < KNOWN:
            self._future_seen(
                f"the dev text has a perplexity of {record['val_perplexity']:.3f}, which no new text has",
                "dev is probably part of train",
            )
        if outcome is not None and outcome.sets:
            self._watch_answers(outcome.sets[0])

    def _future_seen(self, seen: str, otherwise: str = "what is searched is not what was trained") -> None:
        """Tells whether the mask is missing, where there is a batch to try it with."""
        if "shift" in self._told:  # which explains it
            return
        cause = f"the model sees the tokens that it is to predict: {MASK}, or {otherwise}"
        if self.batch is not None and self.answering is not None:
            sign = mask_sign(self.answering, *self.batch())
            cause = f"there is a causal mask, so {otherwise}" if sign is None else sign.line
        self._tell("future seen", f"{seen}: {cause}")

    def _watch_answers(self, evaluated: Evaluated) -> None:
        """Tells of what two validations in a row have shown, unless its cause was told."""
        if self._told & CAUSES:
            return
        seen = {sign.name: sign.line for sign in self.signs(evaluated)}
        for name, line in seen.items():
            if name in self._before:
                self._tell(name, f"at update {self.state.step:,}, {line}")
        self._before = set(seen)

    def _tell(self, symptom: str, line: str) -> None:
        if symptom not in self._told:
            self._told.add(symptom)
            self.report("warning", line)


def num_outputs(model: Any) -> int | None:
    """The number of logits of a model of this package; None for another one."""
    table = getattr(model, "output_embedding", None)
    found = getattr(model, "num_classes", None) if table is None else table.table.shape[0]
    return None if found is None else int(found)
