"""Ctrl-C during an import: one that is broken off leaves a traceback, or half of TensorFlow."""

import atexit
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

EXIT_INTERRUPTED = 128 + signal.SIGINT


@contextmanager
def leaving_quietly() -> Iterator[None]:
    """Ends the process at once, with 130 and without a word, at a Ctrl-C while the block runs.

    For blocks that have nothing to save. Python's own way, an exception wherever the import happens to be, is
    taken for a broken installation by some modules and printed by others.
    """
    previous = signal.getsignal(signal.SIGINT)
    # A shell starts background jobs with the signal ignored; only the main thread may set handlers.
    if previous in (signal.SIG_IGN, None) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def ignore_at_exit() -> None:
    """Lets a Ctrl-C pass while the interpreter winds up: the work is done, and its exit code is settled."""
    atexit.unregister(_ignore)
    atexit.register(_ignore)


def _leave(*_: object) -> None:
    os._exit(EXIT_INTERRUPTED)


def _ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
