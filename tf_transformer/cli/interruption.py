"""Ctrl-C and SIGTERM outside of a training, which has an answer of its own."""

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_TERMINATED = 128 + signal.SIGTERM


class Terminated(BaseException):
    """SIGTERM has come; files that are being written are removed on the way out."""


@contextmanager
def terminating() -> Iterator[None]:
    """Turns a SIGTERM into :class:`Terminated` while the block runs, where nobody else wants it."""
    with _handling({signal.SIGTERM: _terminate}, {signal.SIG_DFL}):
        yield


@contextmanager
def leaving_quietly() -> Iterator[None]:
    """Ends the process at once, with 130 or 143 and without a word, at a signal while the block runs.

    For imports, which have nothing to save. Python's own way, an exception wherever the import happens to be,
    is taken for a broken installation by some modules and printed by others.
    """
    python = {signal.SIG_DFL, signal.default_int_handler, _terminate}
    with _handling({signal.SIGINT: _leave, signal.SIGTERM: _leave}, python):
        yield


def ignore_at_exit() -> None:
    """Lets a Ctrl-C pass while the interpreter winds up: the work is done, and its exit code is settled."""
    atexit.unregister(_ignore)
    atexit.register(_ignore)


@contextmanager
def _handling(
    handlers: dict[int, Callable[[int, FrameType | None], None]], free: set[object]
) -> Iterator[None]:
    """Sets handlers while the block runs, where those before are free to be replaced.

    A shell starts background jobs with SIGINT ignored, and so it stays; only the main thread may set any.
    """
    previous = {}
    if threading.current_thread() is threading.main_thread():
        previous = {number: signal.getsignal(number) for number in handlers}
        previous = {number: handler for number, handler in previous.items() if handler in free}
    for number in previous:
        signal.signal(number, handlers[number])
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def _leave(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


def _ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
