"""The lock of a run folder: one process at a time; the system lets go when a process dies."""

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tf_transformer.errors import RunError
from tf_transformer.files import parse_json

TIME = "%Y-%m-%d %H:%M:%S"


@contextmanager
def locked(folder: Path, name: str, option: str = "--run") -> Iterator[None]:
    """Keeps every other process out of the block; a folder that was made for it and is empty is removed.

    Args:
        folder: The folder; made when it is not there.
        name: The lock's file in it.
        option: What names another folder.

    Raises:
        RunError: When another process is in the block; names it.
    """
    is_new = not folder.exists()
    with _locked_file(folder, name, option) as file:
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime(TIME)}
        file.seek(0)
        file.truncate()
        file.write(json.dumps(owner).encode())
        file.flush()
        try:
            yield
        finally:
            with suppress(FileNotFoundError):
                (folder / name).unlink()
            if is_new:
                with suppress(OSError):  # only an empty folder can be removed: one where nothing began
                    folder.rmdir()


def _locked_file(folder: Path, name: str, option: str) -> IO[bytes]:
    path = folder / name
    while True:
        # The owner before may have removed a folder that it made and left empty.
        folder.mkdir(parents=True, exist_ok=True)
        try:
            file = open(path, "a+b", opener=_without_links)  # noqa: SIM115 - the caller closes it
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The owner before removes the file when it ends: a lock on a removed file keeps nobody out.
            if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                return file
        except FileNotFoundError:
            pass
        except BlockingIOError:
            file.seek(0)
            owner = _owner(file.read())
            file.close()
            raise RunError(f"{folder}: is in use by {owner}; wait for it, or name another {option}") from None
        file.close()


def _without_links(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise RunError(f"{path}: is a link; a run's lock must be a file of its own") from None


def _owner(content: bytes) -> str:
    try:
        owner = parse_json(content)
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def holder(folder: Path, name: str) -> str | None:
    """Who is in the block of ``locked`` now; None where nobody is, or where that cannot be told."""
    try:
        with open(folder / name, "rb", opener=_reading_without_links) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _owner(file.read())
    except OSError:
        return None
    return None


def _reading_without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)
