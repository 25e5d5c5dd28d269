"""Every N updates: the whole dev data, into ``metrics.jsonl``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import keras

from tf_transformer.callbacks.state import TrainingState
from tf_transformer.evaluation import Measure, Outcome


class Listener(Protocol):
    """Who is told of each validation: the terminal, TensorBoard, the run folder."""

    def on_validation(self, record: dict[str, Any], outcome: Outcome) -> None:
        """Receives the line of ``metrics.jsonl`` and the whole outcome."""


class Validation(keras.callbacks.Callback):
    """Validates, remembers the best step, and stops when it has not improved for long.

    Args:
        state: Shared; ``best``, ``best_step``, ``waited`` and ``validated`` are written here.
        every: Updates between two validations.
        validate: Runs one, on the weights of the model in training.
        measure: What ``best`` means.
        rate: Learning rate of an update, by its number from 1.
        of_training: Figures of a sample of training, by the same weights; put beside, named ``train_…``.
        patience: Validations without improvement that end training; None never does.
        listeners: Told of each validation, in order.
    """

    def __init__(
        self,
        state: TrainingState,
        every: int,
        validate: Callable[[], Outcome],
        measure: Measure,
        rate: Callable[[int], float],
        of_training: Callable[[], Mapping[str, float]] = dict,
        patience: int | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        super().__init__()
        self.state = state
        self.every = every
        self.validate = validate
        self.measure = measure
        self.rate = rate
        self.of_training = of_training
        self.patience = patience
        self.listeners = listeners

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        state = self.state
        # A skipped update leaves the step where it was: `validated` keeps it from being validated twice.
        if state.step > state.validated and (state.step % self.every == 0 or state.ended):
            self._run()

    def _run(self) -> None:
        state = self.state
        outcome = self.validate()
        value = outcome.figures[self.measure.name]
        if self.measure.improves(value, state.best):
            state.best, state.best_step, state.waited = value, state.step, 0
        else:
            state.waited += 1
        state.validated = state.step
        if self.patience is not None and state.waited >= self.patience and state.ended is None:
            state.ended = "early stopping"
            self.model.stop_training = True
        sample = {f"train_{name}": value for name, value in self.of_training().items()}
        record = {**self._training_figures(), **sample, **outcome.figures}
        for listener in self.listeners:
            listener.on_validation(record, outcome)
        self.model.clear_interval()
        state.interval_seconds = 0.0

    def _training_figures(self) -> dict[str, Any]:
        sums, state = self.model.interval(), self.state
        updates = max(sums["updates"], 1.0)
        return {
            "step": state.step,
            "epoch": state.epoch,
            "loss": sums["loss_sum"] / max(sums[self.model.counted[0]], 1.0),
            "learning_rate": self.rate(state.step),
            "gradient_norm": sums["gradient_norm_sum"] / updates,
            "skipped_updates": state.skipped,
            **interval_figures(sums, self.model.counted, state.interval_seconds),
            "seconds": state.seconds,
        }


def interval_figures(sums: Mapping[str, float], counts: Sequence[str], seconds: float) -> dict[str, float]:
    """Shares of padding, and what a second of training has used.

    Args:
        sums: What was counted in an interval, by name.
        counts: The names of what the model counts: ``X_tokens`` and ``X_positions`` tell of padding, all but
            positions of speed.
        seconds: The length of the interval.
    """
    figures = {}
    sides = [name.removesuffix("_tokens") for name in counts if name.endswith("_tokens")]
    for side in sides:
        if f"{side}_positions" in counts:
            positions = max(sums[f"{side}_positions"], 1.0)
            figures[f"{side}_padding"] = 1.0 - sums[f"{side}_tokens"] / positions
    for name in counts:
        if not name.endswith("_positions"):
            figures[f"{name}_per_second"] = sums[name] / max(seconds, 1e-9)
    return figures
