"""Bytes of a file to lines of text: compression, byte-order marks, encodings and line ends.

A line ends with LF or CRLF and with nothing else: a form feed, U+2028 or a lone CR is part of its line, so
that two parallel files keep their alignment whatever characters are in them. The ending `.gz` and the content
must agree. A byte-order mark decides the encoding, whatever `encoding` says.
"""

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from tf_transformer.data.opening import (
    PEEK_BYTES,
    Utf8Stream,
    open_bytes,
    refuse_binary,
    refuse_carriage_returns,
)
from tf_transformer.errors import DataError

MAX_LINE_BYTES: Final = 1 << 20
"""Longer lines are not read into memory: they are bad rows. Where lines are no rows, a caller says more."""

# The mark of UTF-32 begins with the one of UTF-16, so it is looked for first.
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)


@dataclass(frozen=True)
class BadLine:
    """Why a line cannot be used.

    Attributes:
        reason: The kind, to count by.
        detail: What is wrong with this very line.
    """

    reason: str
    detail: str


def check_encoding(encoding: str) -> str:
    """The canonical name of a text encoding.

    Args:
        encoding: A name that Python's `codecs` knows, such as `utf-8`, `latin-1` or `gb18030`.

    Returns:
        The name in its canonical spelling.

    Raises:
        ValueError: There is no such encoding of text.
    """
    try:
        name = codecs.lookup(encoding).name
        "\n".encode(name)  # refuses codecs that are not of text, such as base64
    except (LookupError, ValueError, TypeError):
        raise ValueError(
            f"`encoding` must be the name of a text encoding, such as 'utf-8'. Received: {encoding!r}"
        ) from None
    return "utf-8" if name == "utf-8-sig" else name


class LineReader:
    """The lines of one text file, decoded one at a time.

    Iterate over it once, to its end; the attributes are complete then. A line that cannot be used is yielded
    too (decoded as well as it goes), so that the count stays right, and stands in `bad`.

    Args:
        path: A text file, or a gzip-compressed one whose name ends in `.gz`.
        encoding: Encoding of a file without byte-order mark.
        max_line_bytes: What `MAX_LINE_BYTES` is for this file.

    Attributes:
        count: The number of the last line read, from 1; 0 before the first.
        before: Lines of the file that are passed over, so that the first one read has the next number.
        ended: Whether the last of them had a line end.
        bad: Line number (from 1) to what is wrong with it.
        notes: Sentences on how the file was read, where that is not plain.

    Raises:
        ValueError: There is no such encoding.
        DataError: While iterating: the file is missing, unreadable, cut, or not text.
    """

    def __init__(
        self, path: str | os.PathLike[str], encoding: str = "utf-8", max_line_bytes: int | None = None
    ) -> None:
        self.path = Path(path)
        self.encoding = check_encoding(encoding)
        self.count = self.before = 0
        self.ended = True
        self.bad: dict[int, BadLine] = {}
        self.notes: list[str] = []
        self._start = 0
        self._longest = max_line_bytes or MAX_LINE_BYTES

    def __iter__(self) -> Iterator[str]:
        try:
            with open_bytes(self.path) as stream:
                encoding = self._encoding_of(stream)
                if "\n".encode(encoding) == b"\n":
                    yield from self._decoded(stream, encoding)
                else:
                    # LF is not one byte 0x0A here: the bytes are turned into UTF-8 before lines are cut.
                    recoded = cast(io.RawIOBase, Utf8Stream(stream, encoding, self.path))
                    yield from self._decoded(io.BufferedReader(recoded, PEEK_BYTES), "utf-8")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{self.path}: the gzip file is cut short or damaged after line {self.count}: {error}"
            ) from None
        except OSError as error:
            raise DataError(f"{self.path}: the file cannot be read: {error.strerror or error}") from None

    def _encoding_of(self, stream: io.BufferedReader) -> str:
        """The encoding of what follows, after passing over a byte-order mark."""
        start = stream.peek(PEEK_BYTES)
        for mark, marked in _BYTE_ORDER_MARKS:
            if start.startswith(mark):
                self._start = len(stream.read(len(mark)))
                if marked != self.encoding and (marked != "utf-8" or self.encoding != "ascii"):
                    self.notes.append(f"{self.path} is read as {marked}, as its byte-order mark says")
                return marked
        refuse_binary(self.path, start, self.encoding)
        return self.encoding

    def _decoded(self, stream: io.BufferedReader, encoding: str) -> Iterator[str]:
        foreign = also_utf8 = 0
        position = self._start
        while line := stream.readline(self._longest):
            self.count += 1
            self.ended = line.endswith(b"\n")
            if not self.ended:
                size, self.ended = self._skip_line(stream, line)
                if self.count == 1 and not self.ended:
                    refuse_carriage_returns(self.path, line)
                if len(line) == self._longest:
                    position += size
                    yield ""
                    continue
            content = line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")
            if encoding != "utf-8" and not content.isascii():
                foreign += 1
                also_utf8 += _is_utf8(content)
            yield self._text(content, encoding, position)
            position += len(line)
        if foreign and also_utf8 == foreign:
            self.notes.append(
                f"{self.path} is read as {encoding}, but all its lines are valid UTF-8: is `encoding` right?"
            )

    def _text(self, content: bytes, encoding: str, position: int) -> str:
        try:
            text = content.decode(encoding)
            if encoding != "utf-8":
                text.encode("utf-8")  # UTF-7 and its like can write half a surrogate pair
        except UnicodeDecodeError as error:
            self.bad[self.count] = BadLine(
                f"not {encoding}",
                f"byte {error.start + 1} of the line (byte {position + error.start + 1} of the file) is not "
                f"{encoding}. Received: 0x{content[error.start]:02X}",
            )
            return _leniently(content, encoding)
        except UnicodeError as error:
            detail = f"the line (from byte {position + 1} of the file) is not {encoding}: {error}"
            self.bad[self.count] = BadLine(f"not {encoding}", detail)
            return _leniently(content, encoding)
        if "\0" in text:
            self.bad[self.count] = BadLine(
                "NUL character", f"character {text.index(chr(0)) + 1} is a NUL, which no text has"
            )
        return text

    def _skip_line(self, stream: io.BufferedReader, line: bytes) -> tuple[int, bool]:
        """Read past the rest of a line that is too long, without keeping it: its size, and if it ends."""
        size, ended = len(line), False
        if size < self._longest:
            return size, ended
        while not ended and (piece := stream.readline(self._longest)):
            size += len(piece)
            ended = piece.endswith(b"\n")
        self.bad[self.count] = BadLine(
            "line too long", f"a line must have fewer than {self._longest:,} bytes. Received: {size:,}"
        )
        return size, ended


def _leniently(content: bytes, encoding: str) -> str:
    """A bad line as well as it can be decoded: where it breaks into cells shows what else is wrong."""
    try:
        return content.decode(encoding, errors="replace").encode("utf-8", "replace").decode("utf-8")
    except UnicodeError:  # a codec that knows of no replacement
        return content.decode("ascii", errors="replace")


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
