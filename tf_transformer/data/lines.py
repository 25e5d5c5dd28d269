"""Bytes of a file to lines of text: compression, byte-order marks, encodings and line ends.

A line ends with LF or CRLF and with nothing else: a form feed, U+2028 or a lone CR is part of its line, so
that two parallel files keep their alignment whatever characters are in them. The ending `.gz` and the content
must agree. A byte-order mark decides the encoding, whatever `encoding` says.
"""

import codecs
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from tf_transformer.errors import DataError

MAX_LINE_BYTES: Final = 1 << 20
"""Longer lines are not read into memory: they are bad rows."""

_GZIP: Final = b"\x1f\x8b"
_PEEK_BYTES: Final = 1 << 16
# The mark of UTF-32 begins with the one of UTF-16, so it is looked for first.
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_FORMATS: Final = (
    (_GZIP, "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstandard"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"%PDF-", "PDF"),
    (b"PAR1", "Parquet"),
    (b"\x89HDF", "HDF5"),
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
    except (LookupError, UnicodeError, TypeError):
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

    Attributes:
        count: Lines read so far.
        bad: Line number (from 1) to what is wrong with it.
        notes: Sentences on how the file was read, where that is not plain.

    Raises:
        ValueError: There is no such encoding.
        DataError: While iterating: the file is missing, unreadable, cut, or not text.
    """

    def __init__(self, path: str | os.PathLike[str], encoding: str = "utf-8") -> None:
        self.path = Path(path)
        self.encoding = check_encoding(encoding)
        self.count = 0
        self.bad: dict[int, BadLine] = {}
        self.notes: list[str] = []
        self._start = 0

    def __iter__(self) -> Iterator[str]:
        try:
            with _open_bytes(self.path) as stream:
                encoding = self._encoding_of(stream)
                if "\n".encode(encoding) == b"\n":
                    yield from self._decoded(stream, encoding)
                else:
                    # LF is not one byte 0x0A here: the bytes are turned into UTF-8 before lines are cut.
                    recoded = cast(io.RawIOBase, _Utf8Stream(stream, encoding, self.path))
                    yield from self._decoded(io.BufferedReader(recoded, _PEEK_BYTES), "utf-8")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{self.path}: the gzip file is cut short or damaged after line {self.count}: {error}"
            ) from None
        except OSError as error:
            raise DataError(f"{self.path}: the file cannot be read: {error.strerror or error}") from None

    def _encoding_of(self, stream: io.BufferedReader) -> str:
        """The encoding of what follows, after passing over a byte-order mark."""
        start = stream.peek(_PEEK_BYTES)
        for mark, marked in _BYTE_ORDER_MARKS:
            if start.startswith(mark):
                self._start = len(stream.read(len(mark)))
                if marked != self.encoding and (marked != "utf-8" or self.encoding != "ascii"):
                    self.notes.append(f"{self.path} is read as {marked}, as its byte-order mark says")
                return marked
        _refuse_binary(self.path, start, self.encoding)
        return self.encoding

    def _decoded(self, stream: io.BufferedReader, encoding: str) -> Iterator[str]:
        foreign = also_utf8 = 0
        position = self._start
        while line := stream.readline(MAX_LINE_BYTES):
            self.count += 1
            if not line.endswith(b"\n"):
                if self.count == 1:
                    _refuse_carriage_returns(self.path, line)
                if len(line) == MAX_LINE_BYTES:
                    size = self._skip_line(stream, len(line))
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
        except UnicodeDecodeError as error:
            self.bad[self.count] = BadLine(
                f"not {encoding}",
                f"byte {error.start + 1} of the line (byte {position + error.start + 1} of the file) is not "
                f"{encoding}. Received: 0x{content[error.start]:02X}",
            )
            return content.decode(encoding, errors="replace")
        if "\0" in text:
            self.bad[self.count] = BadLine(
                "NUL character", f"character {text.index(chr(0)) + 1} is a NUL, which no text has"
            )
        return text

    def _skip_line(self, stream: io.BufferedReader, size: int) -> int:
        """Read past the rest of a line that is too long, without keeping it; its whole size."""
        while piece := stream.readline(MAX_LINE_BYTES):
            size += len(piece)
            if piece.endswith(b"\n"):
                break
        self.bad[self.count] = BadLine(
            "line too long", f"a line must have fewer than {MAX_LINE_BYTES:,} bytes. Received: {size:,}"
        )
        return size


class _Utf8Stream(io.RawIOBase):
    """The UTF-8 bytes of a stream in UTF-16, UTF-32 or another encoding whose LF is not the byte 0x0A."""

    def __init__(self, stream: io.BufferedReader, encoding: str, path: Path) -> None:
        if encoding in ("utf-16", "utf-32"):
            raise DataError(
                f"{path}: {encoding} without a byte-order mark leaves the order of the bytes open; "
                f"set `encoding` to '{encoding}-le' or '{encoding}-be'"
            )
        self._stream, self._encoding, self._path = stream, encoding, path
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while not self._ready:
            data = self._stream.read(_PEEK_BYTES)
            self._ready = self._recode(data)
            if not data:
                break
        size = min(len(view), len(self._ready))
        view[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _recode(self, data: bytes) -> bytes:
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(self._encoding)
            line = self._lines + good.count("\n") + 1
            raise DataError(
                f"{self._path}: line {line} is not {self._encoding}: {error.reason}. "
                f"Received: 0x{error.object[error.start]:02X}"
            ) from None
        self._lines += text.count("\n")
        return text.encode("utf-8")


def _open_bytes(path: Path) -> io.BufferedReader:
    """The bytes of a file, decompressed."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise DataError(f"{path}: there is no such file") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: this is a folder where a file is needed")
    if not stat.S_ISREG(mode):
        raise DataError(f"{path}: this is not a regular file, and it must be read more than once")
    plain: io.BufferedReader = open(path, "rb", buffering=_PEEK_BYTES)  # type: ignore[assignment]  # noqa: SIM115
    start = plain.peek(2)[:2]
    named_gzip = path.suffix.lower() == ".gz"
    if start and named_gzip != (start == _GZIP):
        plain.close()
        raise DataError(
            f"{path}: the name ends in .gz, but the content is not gzip"
            if named_gzip
            else f"{path}: the content is gzip, but the name does not end in .gz; rename the file"
        )
    if not named_gzip or not start:
        return plain
    plain.close()
    return io.BufferedReader(cast(io.RawIOBase, gzip.open(path, "rb")), _PEEK_BYTES)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _refuse_carriage_returns(path: Path, line: bytes) -> None:
    """Stop at a file without any LF that has CR where lines should end: one giant line otherwise."""
    returns = line.rstrip(b"\r").count(b"\r")
    if returns:
        raise DataError(
            f"{path}: lines must end with LF or CRLF. Received: {returns:,} CR and no LF, "
            "the line ends of old Macintosh systems; convert the file"
        )


def _refuse_binary(path: Path, start: bytes, encoding: str) -> None:
    """Stop at archives and at text with a NUL in every character, which decode without any error."""
    found = next((name for magic, name in _FORMATS if start.startswith(magic)), None)
    if start.startswith(b"BZh") and start[4:10] == b"1AY&SY":
        found = "bzip2"
    if start[257:262] == b"ustar":
        found = "tar"
    if found:
        raise DataError(f"{path}: text is needed, plain or gzip-compressed. Received: {found} data")
    if encoding.startswith(("utf-16", "utf-32")) or start.count(0) * 5 < len(start) or not start:
        return
    even, odd = start[::2].count(0), start[1::2].count(0)
    guess = "utf-32" if even and odd else "utf-16-le" if odd else "utf-16-be"
    raise DataError(
        f"{path}: {start.count(0):,} of the first {len(start):,} bytes are NUL: this is not {encoding}. "
        f"It may be {guess} without a byte-order mark (set `encoding`), or not text at all"
    )
