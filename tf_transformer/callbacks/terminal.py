"""What a person sees while a model trains: one live line, and a line for each validation, on stderr."""

import sys
import time
from collections.abc import Sequence
from typing import Any

import keras
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tf_transformer.callbacks.advance import Limits
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.errors import clock
from tf_transformer.evaluation import Outcome

FIRST = (("step", "update", 9, "{:,}"), ("loss", "loss", 8, "{:.3f}"))
LAST = (("seconds", "time", 8, "clock"),)
"""The columns of the table of validations that every task has: figure, heading, width, format."""


class _Console(Console):
    """One that tells of a closed pipe, where rich ends the program."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Terminal(keras.callbacks.Callback):
    """Shows the progress of a training.

    Args:
        state: Read for step and time.
        headings: The task's columns of the table: figure, heading, width, format.
        measure: The figure by which the best checkpoint is chosen; the live line has its best value.
        quiet: Shows nothing.

    Attributes:
        limits: What the bar runs towards; set when the training is prepared.
        batches_in_epoch: Batches of an epoch, to say how far an epoch limit is away.
    """

    def __init__(
        self,
        state: TrainingState,
        headings: Sequence[tuple[str, str, int, str]],
        *,
        measure: str | None = None,
        quiet: bool = False,
    ) -> None:
        super().__init__()
        self.state = state
        self.headings = (*FIRST, *headings, *LAST)
        self.measure = measure
        self.quiet = quiet
        self.limits = Limits()
        self.batches_in_epoch = 1
        self.console = _Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._headed = False
        self._done_before, self._since = 0.0, 0.0
        self._speed = ""

    def say(self, line: str) -> None:
        """Prints one line above the bar, unless quiet."""
        if self.quiet:
            return
        try:
            self.console.print(line, markup=False)
        except OSError:  # whoever looked on has gone, or the log's disk is full: the training goes on
            self.quiet = self.console.quiet = True

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._done_before, self._since = self._in_interval(), time.monotonic()
        if self.quiet or not sys.stderr.isatty():
            return
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
        self._bar = Progress(*columns, console=self.console, transient=True)
        self._task = self._bar.add_task("starting", total=1.0)
        self._bar.update(self._task, completed=self._done())
        self._bar.start()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self._bar is None or self._task is None or logs is None or self.state.step % 5:
            return
        done = self._done()
        left = f" · {clock(self.state.seconds * (1 - done) / done)} left" if 0 < done < 1 else ""
        loss = f"loss {float(logs['loss']):.3f}"
        line = f"update {self.state.step:,} · {loss}{self._best()} · {self._pace()}{left}"
        self._bar.update(self._task, description=line, completed=done)

    def on_validation(self, record: dict[str, Any], outcome: Outcome) -> None:
        """Prints one row of the table."""
        if not self._headed:
            self._headed = True
            self.say("".join(heading.rjust(width) for _, heading, width, _ in self.headings))
        self.say("".join(_cell(record.get(name), width, form) for name, _, width, form in self.headings))
        self._done_before, self._since = 0.0, time.monotonic()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _done(self) -> float:
        """Share of the work that is done, by the limit that is nearest."""
        shares = self.limits.shares(self.state, self.batches_in_epoch)
        return min(1.0, max(shares.values(), default=0.0))

    def _best(self) -> str:
        """The best value on dev so far, with a separator before it; nothing before the first validation."""
        if self.measure is None or self.state.best is None:
            return ""
        usual = (self.measure.removeprefix("val_").replace("_", " "), "{:.4g}")
        known = {name: (heading, form) for name, heading, _, form in self.headings}
        heading, form = known.get(self.measure, usual)
        return f" · best {heading} {form.format(self.state.best)}"

    def _pace(self) -> str:
        """What a second takes of what the model counts first, such as ``4,000 tokens/s``."""
        done, now = self._in_interval(), time.monotonic()
        if now - self._since >= 1 or not self._speed:
            figure = f"{self.model.counted[0]}_per_second"
            unit = next((heading for name, heading, *_ in self.headings if name == figure), "a second")
            self._speed = f"{(done - self._done_before) / max(now - self._since, 1e-9):,.0f} {unit}"
            self._done_before, self._since = done, now
        return self._speed

    def _in_interval(self) -> float:
        found: float = self.model.interval()[self.model.counted[0]]
        return found


def _cell(value: float | None, width: int, form: str) -> str:
    text = "-" if value is None else clock(value) if form == "clock" else form.format(value)
    return text.rjust(width)
