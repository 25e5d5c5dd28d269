"""Files that are whole or not there: written aside, flushed to the disk, renamed; and their fingerprints."""

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_CHUNK = 1 << 20
_UNFINISHED = ".writing"


@dataclass(frozen=True)
class Fingerprint:
    """What tells whether a file is still the same file.

    Args:
        size: Length in bytes.
        sha256: SHA-256 of the content, 64 hexadecimal digits.
    """

    size: int
    sha256: str


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file to be put in the place of ``path`` when the block ends without an exception.

    Whoever reads ``path`` meanwhile, or after the process was killed in the block, sees the old content.
    A link stays one: the file it leads to is replaced. A device or pipe is written into, never replaced.

    Args:
        path: The file to write; its folder must exist.

    Yields:
        A binary file open for writing.

    Raises:
        OSError: When the disk is full or the folder cannot be written; ``path`` is as it was then.
    """
    path = path.resolve()
    if path.exists() and not (path.is_file() or path.is_dir()):
        with path.open("wb") as device:
            yield device
        return
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED)
    aside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp keeps others out, which is right for secrets and wrong for results.
        aside.chmod(_mode(path))
        aside.replace(path)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
    sync_folder(path.parent)


def is_unfinished(path: Path) -> bool:
    """Whether a file is what ``replacing`` left when its process was killed."""
    return path.name.startswith(".") and path.name.endswith(_UNFINISHED) and path.is_file()


def write_bytes(path: Path, content: bytes) -> None:
    """Writes ``content`` to ``path``, whole or not at all."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` to ``path`` as UTF-8, line ends as they are, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Writes ``value`` to ``path`` as indented JSON, whole or not at all.

    Raises:
        ValueError: When a number is not finite: JSON has no word for it.
        TypeError: When something in ``value`` has no JSON form.
    """
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_file(path: Path) -> bytes:
    """The content of a regular file; of a pipe or device, which a link may lead to, there might be no end.

    Raises:
        OSError: When it is none, or cannot be read.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return path.read_bytes()


def parse_json(content: bytes) -> Any:
    """The value that JSON in UTF-8 says.

    Raises:
        ValueError: When it is none, or nested more deeply than any file of this package is.
    """
    try:
        return json.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def sync_folder(folder: Path) -> None:
    """Flushes the names in ``folder`` to the disk: a rename outlives a power cut only after this."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content, 64 hexadecimal digits."""
    return fingerprint(path).sha256


def fingerprint(path: Path) -> Fingerprint:
    """Size and SHA-256 of a file; both are of the bytes read, also while somebody appends to it.

    Raises:
        OSError: When the file cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return Fingerprint(size, digest.hexdigest())


def folder_fingerprint(folder: Path) -> Fingerprint:
    """Size and SHA-256 of all files below a folder and of their names; those that begin with a dot left out.

    Raises:
        OSError: When a file cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    for path in files_below(folder):
        content = fingerprint(path)
        digest.update(f"{content.sha256} {path.relative_to(folder).as_posix()}\n".encode())
        size += content.size
    return Fingerprint(size, digest.hexdigest())


def files_below(folder: Path) -> list[Path]:
    """The files below a folder at any depth, in one order always; what begins with a dot is left out.

    Raises:
        OSError: When a folder cannot be read, or a name is not UTF-8.
    """
    paths = []
    for place, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(place, name) for name in names if not name.startswith(".")]
    bad = next((path for path in paths if not is_utf8(path)), None)
    if bad is not None:
        shown = str(bad).encode("utf-8", "backslashreplace").decode()
        raise OSError(errno.EILSEQ, "must have a path in UTF-8", shown)
    return sorted(paths)


def _refuse(error: OSError) -> None:
    raise error


def folder_fault(folder: Path) -> str | None:
    """Why nothing can be written into a folder, which need not be there yet; None where it can.

    Args:
        folder: As the user wrote it; the answer calls it so.
    """
    if not is_utf8(folder.absolute()):
        return f"{folder}: names of folders must be UTF-8, and one on the way there is not"
    there = next((place for place in (folder, *folder.parents) if place.exists() or place.is_symlink()), None)
    if there is None:  # not even the current folder is left
        return f"{folder}: the current folder was removed"
    if not there.is_dir():
        kind = "a file" if there.exists() else "a link that leads nowhere"
        place = "is" if there == folder else f"must be a folder or not there yet, and {there} is"
        return f"{folder} {place} {kind}"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{folder}: {there} cannot be written to"
    return None


def is_utf8(path: Path) -> bool:
    """Whether a path can be written into a recipe, and be opened by TensorFlow."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _mode(path: Path) -> int:
    """Permissions for a new ``path``: those of the file it replaces, else what the umask leaves."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
