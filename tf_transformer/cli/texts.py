"""Lines in, lines out: what ``predict`` reads and writes, one line for one line."""

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from tf_transformer.errors import DataError
from tf_transformer.files import replacing

LINES_AT_ONCE = 1024
"""Lines that are answered together; long and short ones are sorted apart within them."""


@contextmanager
def reading(path: Path | None) -> Iterator[Iterator[list[str]]]:
    """Opens a file of text, ``.gz`` too, or stdin; yields its lines in groups, one by one from a terminal.

    Lines end with LF, or CRLF, alone: no other character that some programs take for a line end does.

    Raises:
        DataError: When a line is not UTF-8; names it.
    """
    with ExitStack() as stack:
        if path is None:
            stream: Iterable[bytes] = sys.stdin.buffer
        elif path.suffix == ".gz":
            stream = stack.enter_context(gzip.open(path, "rb"))
        else:
            stream = stack.enter_context(path.open("rb"))
        size = 1 if path is None and sys.stdin.isatty() else LINES_AT_ONCE
        yield _groups(_lines(stream, str(path or "stdin")), size)


@contextmanager
def writing(path: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """Opens stdout, or a file that is whole when the block ends; yields a writer of lines."""
    if path is None:
        yield lambda lines: _write(sys.stdout.buffer, lines)
        return
    with replacing(path) as file:
        yield lambda lines: _write(file, lines)


def one_line(text: str) -> str:
    """An answer without line ends, so that lines out stay as many as lines in."""
    return text.replace("\r", " ").replace("\n", " ")


def _lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        content = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            yield content.removeprefix(b"\xef\xbb\xbf").decode() if number == 1 else content.decode()
        except UnicodeDecodeError as error:
            byte = content[error.start]
            raise DataError(f"{name}:{number}: must be UTF-8; received the byte 0x{byte:02X}") from None


def _groups(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    group: list[str] = []
    for line in lines:
        group.append(line)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _write(file: IO[bytes], lines: Iterable[str]) -> None:
    file.write("".join(f"{line}\n" for line in lines).encode())
    file.flush()
