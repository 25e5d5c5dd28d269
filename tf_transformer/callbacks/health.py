"""Bad numbers: updates that had to be skipped, loss scales that vanish, and losses that run away."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import keras

from tf_transformer.callbacks.state import TrainingState
from tf_transformer.errors import RunError

LINES_NAMED = 5
"""Lines of a bad batch that a report names."""
MEMORY = 0.98
"""Share of the old value in the smoothed loss: it looks back over about 50 updates."""
LEAST_SCALE = 1.0
"""Where the loss scale stops falling: overflow at this scale is not of its making, and a smaller one would
lose small gradients to float16's zero, in the end all of them."""


class DivergenceError(Exception):
    """The loss has run away, and the recipe asks for the best checkpoint to be taken up again."""


@dataclass(frozen=True)
class HealthRules:
    """When a training counts as ill.

    Args:
        max_skipped: Skipped updates in a row that stop it.
        above: How far, in nats, the smoothed loss may lie above its lowest value so far.
        patience: Updates in a row that it may do so.
        action: What happens then: ``"warn"``, ``"stop"``, or ``"restore"`` the best checkpoint.
    """

    max_skipped: int
    above: float
    patience: int
    action: Literal["warn", "stop", "restore"]


class Health(keras.callbacks.Callback):
    """Looks at each update; the first callback of the list, while the state still points at the batch.

    Args:
        state: Read for the batch's place; the smoothed loss is kept in it.
        rules: When to act.
        lines_of: Names the lines of the batch at an epoch and place, such as ``train.en:17``.
        report: Told of each event: its kind and one line.
        row: What an example is called.
        data: What is learnt from.
    """

    def __init__(
        self,
        state: TrainingState,
        rules: HealthRules,
        lines_of: Callable[[int, int], list[str]],
        report: Callable[[str, str], None],
        row: str = "pair",
        data: str = "text",
    ) -> None:
        super().__init__()
        self.state = state
        self.rules = rules
        self.lines_of = lines_of
        self.report = report
        self.row = row
        self.data = data
        self._scale_told = False

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is None:
            return
        loss = float(logs["loss"])
        if int(logs["taken"]) == 0:
            # A finite loss with a finite gradient is skipped for one reason alone.
            empty = math.isfinite(loss) and math.isfinite(float(logs.get("gradient_norm", math.nan)))
            self._skipped(loss, empty)
        else:
            self.state.skipped_in_a_row = 0
            self._follow(loss)
        self._watch_scale()

    def _skipped(self, loss: float, empty: bool) -> None:
        state = self.state
        state.skipped_in_a_row += 1
        lines = self.lines_of(state.epoch, state.batch)
        named = ", ".join(lines[:LINES_NAMED]) + (", …" if len(lines) > LINES_NAMED else "")
        what = "the gradient is not finite" if math.isfinite(loss) else f"the loss is {loss}"
        what = "no label counts, all of them are padding" if empty else what
        line = (
            f"after update {state.step:,}, {what}; skipped: batch {state.batch} of epoch {state.epoch}, "
            f"{len(lines)} {self.row}s ({named})"
        )
        self.report("skipped update", line)
        if state.skipped_in_a_row >= self.rules.max_skipped:
            had = "had no finite loss and gradient" if not empty else "had nothing to learn"
            rate = "" if empty else "Lower the learning rate, or "
            raise RunError(
                f"{state.skipped_in_a_row} updates in a row {had}; stopped, the last good checkpoint is "
                f"untouched. The last one: {line}. {rate}{'L' if empty else 'l'}ook at the {self.data}"
            )

    def _follow(self, loss: float) -> None:
        state, rules = self.state, self.rules
        state.smoothed_loss = (
            loss if state.smoothed_loss is None else MEMORY * state.smoothed_loss + (1 - MEMORY) * loss
        )
        if state.lowest_loss is None or state.smoothed_loss < state.lowest_loss:
            state.lowest_loss = state.smoothed_loss
        if state.smoothed_loss <= state.lowest_loss + rules.above:
            state.updates_above = 0
            return
        state.updates_above += 1
        if state.updates_above == rules.patience:
            self._diverged()

    def _diverged(self) -> None:
        state = self.state
        line = (
            f"after update {state.step:,}, the loss is {state.smoothed_loss:.3f} and has been more than "
            f"{self.rules.above:g} above its lowest value, {state.lowest_loss:.3f}, for "
            f"{state.updates_above} updates: the learning rate is probably too high"
        )
        self.report("divergence", line)
        if self.rules.action == "stop":
            raise RunError(f"stopped, the best checkpoint is untouched: {line}")
        if self.rules.action == "restore":
            raise DivergenceError(line)

    def _watch_scale(self) -> None:
        """Keeps the loss scale from falling below its least, and tells of it whenever it gets there."""
        scale = getattr(self.model.optimizer, "dynamic_scale", None)
        if scale is None:
            return
        value = float(scale.numpy())
        if value < LEAST_SCALE:
            scale.assign(LEAST_SCALE)
            if not self._scale_told:
                self._scale_told = True
                line = (
                    f"after update {self.state.step:,}, it is at its least, {LEAST_SCALE:g}, and gradients "
                    "overflow all the same; such updates are skipped. float32 or bfloat16 would not overflow"
                )
                self.report("loss scale", line)
        elif value > LEAST_SCALE:
            self._scale_told = False
