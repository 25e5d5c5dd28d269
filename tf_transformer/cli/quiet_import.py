"""TensorFlow's start-up lines, kept off the terminal: no log level does that, only the descriptor."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from tf_transformer.cli.interruption import leaving_quietly


@contextmanager
def quiet_import() -> Iterator[None]:
    """Sends what is written to file descriptor 2 aside while the block runs; shows it when the block fails.

    Lines of the C++ side come before its logging is set up, so the block must hold the first import of
    TensorFlow. Only the command line does this; the library leaves the terminal alone. A Ctrl-C in the block
    ends the process without a word.
    """
    # The same lines again, from the first use of a device; what truly fails also raises in Python.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    kept = os.dup(2)
    with _aside() as aside, leaving_quietly():
        os.dup2(aside.fileno(), 2)
        try:
            yield
        except Exception:
            _restore(kept)
            kept = -1
            aside.seek(0)
            sys.stderr.write(aside.read().decode(errors="replace"))
            raise
        finally:
            if kept >= 0:
                _restore(kept)


def _aside() -> IO[bytes]:
    with suppress(OSError):
        return tempfile.TemporaryFile()
    return open(os.devnull, "w+b")  # no folder for temporary files: a reason to show less, not to stop


def _restore(kept: int) -> None:
    sys.stderr.flush()
    os.dup2(kept, 2)
    os.close(kept)
