"""Counts updates and batches, and ends the training at its limits or when it is interrupted."""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import keras

from tf_transformer.callbacks.state import TrainingState

_STOP, _TIME = 1, 2**32
"""What a host wishes: to stop for now, or, the chief alone, to end because the time is up."""


@dataclass(frozen=True)
class Limits:
    """Whichever comes first ends the training; None is no limit."""

    steps: int | None = None
    epochs: float | None = None
    minutes: float | None = None

    def reached(self, state: TrainingState, batches_in_epoch: int) -> str | None:
        """The limit that ``state`` has reached, or None."""
        shares = self.shares(state, batches_in_epoch)
        return next((name for name, share in shares.items() if share >= 1.0), None)

    def shares(self, state: TrainingState, batches_in_epoch: int) -> dict[str, float]:
        """How much of each limit is used up, 1 at its end; limits that are not set are left out.

        Args:
            state: Where training stands.
            batches_in_epoch: Batches in the plan of the present epoch.
        """
        used = {
            "steps": (state.step, self.steps),
            "epochs": (state.epoch + state.batch / batches_in_epoch, self.epochs),
            "minutes": (state.seconds / 60, self.minutes),
        }
        return {name: done / limit for name, (done, limit) in used.items() if limit is not None}


class Interruption:
    """Ctrl-C and SIGTERM ask the training to save and stop; a second one stops at once.

    Attributes:
        signal: The signal received, None before.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        # Python lets only the main thread set handlers; a training in another one is stopped by its owner.
        here = threading.current_thread() is threading.main_thread()
        for number in (signal.SIGINT, signal.SIGTERM) if here else ():
            self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number


class Advance(keras.callbacks.Callback):
    """Moves the state on after each batch; the first callback of the list.

    Args:
        state: Moved on in place.
        batches_in: Number of batches in the plan of an epoch.
        limits: When training is complete.
        interruption: Asked after each batch.
        alone: Whether no other host has to be asked. Where several train, each learns with an update what
            any of them wished before it, and all of them stop after the same one.
        is_chief: Whether this host's clock is the one that counts.
    """

    def __init__(
        self,
        state: TrainingState,
        batches_in: Callable[[int], int],
        limits: Limits,
        interruption: Interruption,
        *,
        alone: bool = True,
        is_chief: bool = True,
    ) -> None:
        super().__init__()
        self.alone = alone
        self.is_chief = is_chief
        self.state = state
        self.batches_in = batches_in
        self.limits = limits
        self.interruption = interruption
        self._tick = 0.0
        self._wished = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._tick = time.monotonic()

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        # What lies between the end of a batch and the begin of the next is validation and saving.
        now = time.monotonic()
        self.state.seconds += now - self._tick
        self._tick = now

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        state = self.state
        step = int(self.model.optimizer.iterations.numpy())
        state.skipped += int(step == state.step)
        state.step = step
        state.batch += 1
        if state.batch >= self.batches_in(state.epoch):
            state.epoch, state.batch = state.epoch + 1, 0
        now = time.monotonic()
        state.seconds += now - self._tick
        state.interval_seconds += now - self._tick
        self._tick = now
        state.ended = self.limits.reached(state, self.batches_in(state.epoch))
        if not self.alone and logs is not None:
            self._agree(int(logs["wish"]))
        if state.ended or (self.alone and self.interruption.signal is not None):
            self.model.stop_training = True

    def _agree(self, wishes: int) -> None:
        """Does what all hosts do, by the wishes that they had before this update; has wishes for the next."""
        state, own = self.state, 0
        if state.ended == "minutes":
            own += _TIME * self.is_chief
            without = replace(self.limits, minutes=None)
            state.ended = without.reached(state, self.batches_in(state.epoch))
        if self.interruption.signal is not None:
            own += _STOP
        if wishes >= _TIME and state.ended is None:
            state.ended = "minutes"
        if wishes % _TIME:
            self.interruption.signal = self.interruption.signal or signal.SIGTERM
            self.model.stop_training = True
        if own != self._wished:
            self.model.wish.assign(own)
            self._wished = own
