"""The standard streams: closed before the program began, as by ``2>&-``, or told what a person is to know."""

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from tf_transformer.errors import printable


def hold_standard_streams() -> None:
    """Keeps descriptors 0, 1 and 2 from being given to the next files that are opened.

    TensorFlow writes to descriptor 2 by its number: a checkpoint that got it would be spoilt. What a command
    reads or prints then fails and says why; messages for a person are lost, as was asked for.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = ClosedStream("standard input")
    if sys.stdout is None:
        sys.stdout = ClosedStream("standard output")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the process


class ClosedStream(io.TextIOBase):
    """Fails when it is used.

    Args:
        name: What the error calls it.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def buffer(self) -> "ClosedStream":
        """The stream of bytes below this one."""
        return self

    def write(self, content: Any) -> NoReturn:
        raise OSError(errno.EBADF, "is closed", self.name)

    def read(self, size: int | None = -1) -> NoReturn:
        self.write(size)

    def readline(self, size: int | None = -1) -> NoReturn:
        self.write(size)


def teller(quiet: bool) -> Callable[[str], None]:
    """What says a line to the person who waits, on stderr; nothing where that is to be quiet."""

    def say(line: str) -> None:
        if not quiet:
            print(printable(line), file=sys.stderr)

    return say


def introduce(answering: Any, say: Callable[[str], None]) -> None:
    """Says what was loaded: the notes and the name of a `TaskFace`."""
    for line in (*answering.notes, answering.name):
        say(line)
