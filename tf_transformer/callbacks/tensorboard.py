"""TensorBoard events of a run: training and validation on one axis, the optimizer updates.

Tags: ``loss``, ``perplexity``, ``learning_rate``, ``speed/…`` and ``padding/…`` under ``tensorboard/train``;
``loss``, ``perplexity``, ``accuracy``, ``bleu``, ``chrf`` and the text ``samples`` under ``tensorboard/dev``.
The same tag in both lies in one chart.
"""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from tf_transformer.callbacks.state import TrainingState
from tf_transformer.evaluation import Outcome, Sample


class TensorBoardEvents(keras.callbacks.Callback):
    """Writes scalars of training every few updates, and all figures at each validation.

    Args:
        state: Read for the step.
        folder: ``tensorboard/`` of the run.
        every: Updates between two points of the training curves.
    """

    def __init__(self, state: TrainingState, folder: Path, every: int = 20) -> None:
        super().__init__()
        self.state = state
        self.every = every
        self.folder = folder
        with _errors_of_disks(folder):
            self.train = tf.summary.create_file_writer(str(folder / "train"))
            self.dev = tf.summary.create_file_writer(str(folder / "dev"))
        self._written = state.step
        self._rate: Any = 0.0

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        # The optimizer always names the rate of the update that comes next.
        if (self.state.step + 1) % self.every == 0:
            self._rate = self.model.optimizer.learning_rate

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        step = self.state.step
        if step % self.every or step == self._written or logs is None:
            return
        self._written = step
        with _errors_of_disks(self.folder), self.train.as_default(step=step):
            tf.summary.scalar("loss", logs["loss"])
            tf.summary.scalar("learning_rate", self._rate)
            scale = getattr(self.model.optimizer, "dynamic_scale", None)
            if scale is not None:
                tf.summary.scalar("loss_scale", scale)

    def on_validation(self, record: dict[str, Any], outcome: Outcome) -> None:
        """Writes the figures of one validation and its samples."""
        with _errors_of_disks(self.folder):
            with self.train.as_default(step=self.state.step):
                for tag, value in training_scalars(record).items():
                    tf.summary.scalar(tag, value)
            with self.dev.as_default(step=self.state.step):
                for name, value in outcome.figures.items():
                    tf.summary.scalar(name.removeprefix("val_"), value)
                if outcome.samples:
                    tf.summary.text("samples", _table(outcome.samples))
            self.train.flush()
            self.dev.flush()

    def write_text(self, tag: str, text: str) -> None:
        """Writes a text that belongs to the whole run, such as the recipe."""
        with _errors_of_disks(self.folder), self.train.as_default(step=0):
            tf.summary.text(tag, f"```\n{text}\n```")

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        with _errors_of_disks(self.folder):
            self.train.close()
            self.dev.close()


def training_scalars(record: dict[str, Any]) -> dict[str, Any]:
    """The figures of the training side that are written at each validation, by tag."""
    scalars = {name: record[name] for name in ("gradient_norm", "skipped_updates")}
    for name, value in record.items():
        if name.endswith("_padding"):
            scalars[f"padding/{name.removesuffix('_padding')}_share"] = value
        elif name.endswith("_per_second"):
            scalars[f"speed/{name}"] = value
    return scalars


@contextmanager
def _errors_of_disks(folder: Path) -> Iterator[None]:
    """TensorFlow has errors of its own for files, and the same one for a full disk and for too little memory.

    Raises:
        OSError: In their place, with the reason that the system gave.
    """
    try:
        yield
    except tf.errors.OpError as error:
        reason = error.message.split("\n")[0].rpartition("; ")[2]
        number = errno.ENOSPC if isinstance(error, tf.errors.ResourceExhaustedError) else errno.EIO
        raise OSError(number, reason, str(folder)) from None


def _table(samples: Sequence[Sample]) -> str:
    """Samples as a Markdown table."""

    def cell(text: str) -> str:
        return text.replace("|", "\\|").replace("\n", " ")

    rows = [f"| {cell(s.source)} | {cell(s.reference)} | {cell(s.output)} |" for s in samples]
    return "\n".join(["| source | reference | output |", "| --- | --- | --- |", *rows])
