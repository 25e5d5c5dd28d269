"""Lines in, lines out: what ``predict`` reads and writes, one line for one line."""

import codecs
import gzip
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from tf_transformer.errors import DataError, printable
from tf_transformer.files import replacing

LINES_AT_ONCE = 1024
"""Lines that are answered together; long and short ones are sorted apart within them."""
_MOST_BYTES = 1 << 20


@contextmanager
def reading(path: Path | None) -> Iterator[Iterator[list[str]]]:
    """Opens a file of text, ``.gz`` too, or stdin; yields its lines in groups, one by one from a terminal.

    Lines end with LF, or CRLF, alone: no other character that some programs take for a line end does.

    Raises:
        DataError: When a line is not UTF-8, or a ``.gz`` is cut, damaged or none; names file and line.
    """
    with ExitStack() as stack:
        if path is None:
            stream: IO[bytes] | Any = sys.stdin.buffer
            stream.read(0)  # fails now where stdin is closed
        elif _is_gzip(path):
            stream = stack.enter_context(gzip.open(path, "rb"))
        else:
            stream = stack.enter_context(path.open("rb"))
        size = 1 if path is None and sys.stdin.isatty() else LINES_AT_ONCE
        yield _groups(_lines(stream, str(path or "stdin")), size)


def output_fault(path: Path) -> str | None:
    """Why answers cannot be written to a file, for a refusal before any work; None where they can."""
    place = path.resolve()
    folder = place.parent
    if place.is_dir():
        return f"{path} is a folder, and answers go to a file"
    if not folder.is_dir():
        return f"{path}: there is no folder {path.parent if folder == path.parent.resolve() else folder}"
    is_special = place.exists() and not place.is_file()
    if not os.access(place if is_special else folder, os.W_OK):
        return f"{path}: {'it' if is_special else 'its folder'} cannot be written to"
    return None


@contextmanager
def writing(path: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """Opens stdout, or a file that is whole when the block ends; yields a writer of lines.

    A file named ``.gz`` is compressed. On a terminal, characters that it would obey are written out.
    """
    if path is None:
        shown = printable if sys.stdout.isatty() else str
        yield lambda lines: _write(sys.stdout.buffer, map(shown, lines), "standard output")
        return
    with replacing(path) as file:
        if not _is_gzip(path):
            yield lambda lines: _write(file, lines, str(path))
            return
        # No name and no time in it: the same answers are the same bytes.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            yield lambda lines: _write(packed, lines, str(path))


def one_line(text: str) -> str:
    """An answer without line ends, so that lines out stay as many as lines in."""
    return text.replace("\r", " ").replace("\n", " ")


def escaped(text: str) -> str:
    """An answer that has lines on one line: a line end is written ``\\n``, and a backslash ``\\\\``."""
    return "\\n".join(line.replace("\\", "\\\\").replace("\r", " ") for line in text.split("\n"))


def unescaped(line: str) -> str:
    """Undoes ``escaped``; a backslash before anything else is itself."""
    return re.sub(r"\\([\\n])", lambda found: "\n" if found[1] == "n" else "\\", line)


def _is_gzip(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _lines(stream: IO[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(_unpacked(stream, name), start=1):
        content = line.removesuffix(b"\n").removesuffix(b"\r")
        whole = len(line) < _MOST_BYTES or line.endswith(b"\n")
        try:
            # A line cut by its size may end within a character, which is left out then.
            text = codecs.utf_8_decode(content, "strict", whole)[0]
            yield text.removeprefix("\ufeff") if number == 1 else text
        except UnicodeDecodeError as error:
            byte = content[error.start]
            raise DataError(f"{name}:{number}: must be UTF-8; received the byte 0x{byte:02X}") from None


def _unpacked(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """The lines of a stream, each up to a size that no sentence has: no model reads that far."""
    number = 0
    try:
        while line := stream.readline(_MOST_BYTES):
            number += 1
            rest = line
            while len(rest) == _MOST_BYTES and not rest.endswith(b"\n"):
                rest = stream.readline(_MOST_BYTES)
            yield line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        where = f"after line {number}" if number else "at its start"
        raise DataError(f"{name}: must be a whole gzip file, as its name says; {where}: {error}") from None


def _groups(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    group: list[str] = []
    for line in lines:
        group.append(line)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _write(file: IO[bytes] | Any, lines: Iterable[str], name: str) -> None:
    content = "".join(f"{line}\n" for line in lines).encode()
    try:
        file.write(content)
        file.flush()
    except OSError as error:  # the system does not know what it is called
        raise OSError(error.errno, error.strerror, name) from None
