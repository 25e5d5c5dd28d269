"""Event files as TensorBoard reads them: one summary a step, each value with the kind of its tab."""

import errno
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorboard.plugins.histogram import metadata as histograms
from tensorboard.plugins.image import metadata as images
from tensorboard.plugins.scalar import metadata as scalars
from tensorboard.plugins.text import metadata as texts

from tf_transformer.callbacks.board.allowance import Allowance
from tf_transformer.callbacks.board.tags import described

BUCKETS = 30
_OVERHEAD = 40
"""Bytes of an event beside its summary: its time, its step and two check sums."""


class EventFile:
    """What one run of TensorBoard consists of: a folder with event files in it.

    Args:
        folder: The folder; its name is what the run is called.
        allowance: Told how many bytes are written.

    Attributes:
        tags: Those that were written.

    Raises:
        OSError: From all methods, when the disk takes no more.
    """

    def __init__(self, folder: Path, allowance: Allowance) -> None:
        self.folder = folder
        self.allowance = allowance
        self.tags: set[str] = set()
        with errors_of_disks(folder):
            self._writer = tf.summary.create_file_writer(str(folder))

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Writes one point each of some curves."""
        summary = tf.compat.v1.Summary()
        for tag, value in values.items():
            self._add(summary, tag, np.float32(value), scalars)
        self.raw(step, summary.SerializeToString())

    def text(self, step: int, tag: str, markdown: str) -> None:
        """Writes a text, in Markdown."""
        summary = tf.compat.v1.Summary()
        self._add(summary, tag, np.array([markdown.encode()], object), texts)
        self.raw(step, summary.SerializeToString())

    def image(self, step: int, tag: str, png: bytes) -> None:
        """Writes a picture, the contents of a PNG file."""
        width, height = struct.unpack(">II", png[16:24])  # the head of every PNG file
        summary = tf.compat.v1.Summary()
        contents = [str(width).encode(), str(height).encode(), png]
        self._add(summary, tag, np.array(contents, object), images)
        self.raw(step, summary.SerializeToString())

    def histograms(self, step: int, values: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Writes how some numbers are distributed."""
        summary = tf.compat.v1.Summary()
        for tag, numbers in values.items():
            counts, edges = np.histogram(numbers[np.isfinite(numbers)], bins=BUCKETS)
            self._add(summary, tag, np.stack([edges[:-1], edges[1:], counts], axis=1), histograms)
        self.raw(step, summary.SerializeToString())

    def raw(self, step: int, summary: bytes) -> None:
        """Writes a summary that is in bytes already."""
        with errors_of_disks(self.folder), self._writer.as_default():
            tf.summary.experimental.write_raw_pb(summary, step=step)
        self.allowance.written += len(summary) + _OVERHEAD

    def flush(self) -> None:
        """Leaves nothing in memory."""
        with errors_of_disks(self.folder):
            self._writer.flush()

    def close(self) -> None:
        """Writes what is left."""
        with errors_of_disks(self.folder):
            self._writer.close()

    def _add(self, summary: Any, tag: str, value: Any, plugin: Any) -> None:
        """Adds a value; the first one of a tag says what the tag is."""
        one = summary.value.add(tag=tag, tensor=tf.make_tensor_proto(value))
        if tag not in self.tags:
            self.tags.add(tag)
            about = plugin.create_summary_metadata(display_name=None, description=described(tag))
            one.metadata.ParseFromString(about.SerializeToString())


def bytes_in(folder: Path) -> int:
    """How large the event files below a folder are."""
    return sum(file.stat().st_size for file in folder.rglob("events.out.tfevents.*"))


@contextmanager
def errors_of_disks(folder: Path) -> Iterator[None]:
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
