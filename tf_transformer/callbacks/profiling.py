"""A trace of some updates for TensorBoard's Profile tab, where a recipe asks for one."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from tf_transformer.callbacks.state import TrainingState


class Profiling(keras.callbacks.Callback):
    """Traces the updates from one number to another.

    Args:
        state: Read for the step.
        folder: Where the trace goes: a run of TensorBoard.
        first: The first update that is traced, from 1.
        last: The last one.
    """

    def __init__(self, state: TrainingState, folder: Path, first: int, last: int) -> None:
        super().__init__()
        self.state = state
        self.folder = folder
        self.first = first
        self.last = last
        self._is_on = False

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        # A training that is continued in the middle of them traces the rest.
        if not self._is_on and self.first <= self.state.step + 1 <= self.last:
            self._is_on = True
            tf.profiler.experimental.start(str(self.folder))

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self._is_on and self.state.step >= self.last:
            self._stop()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._is_on:
            self._stop()

    def _stop(self) -> None:
        self._is_on = False
        with suppress(tf.errors.UnavailableError):  # somebody else has stopped it
            tf.profiler.experimental.stop()
