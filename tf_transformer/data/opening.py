"""Files as bytes: opened, decompressed, turned into UTF-8, and refused where they are not text."""

import codecs
import contextlib
import gzip
import io
import os
import stat
from pathlib import Path
from typing import Final, cast

from tf_transformer.errors import DataError

_GZIP: Final = b"\x1f\x8b"
PEEK_BYTES: Final = 1 << 16
"""The beginning of a file by which it is judged."""
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


class Utf8Stream(io.RawIOBase):
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
            data = self._stream.read(PEEK_BYTES)
            self._ready = self._recode(data)
            if not data:
                break
        size = min(len(view), len(self._ready))
        view[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _recode(self, data: bytes) -> bytes:
        try:
            text = self._decoder.decode(data, final=not data)
            content = text.encode("utf-8")  # some codecs can write half a surrogate pair, which UTF-8 cannot
        except UnicodeError as error:
            raise DataError(f"{self._path}: {self._fault(error)}") from None
        self._lines += text.count("\n")
        return content

    def _fault(self, error: UnicodeError) -> str:
        line = self._lines + 1
        if not isinstance(error, UnicodeDecodeError):
            return f"line {line}, or one after it, is not {self._encoding}: {error}"
        with contextlib.suppress(UnicodeError):  # some codecs take no part of what they have refused
            line += error.object[: error.start].decode(self._encoding).count("\n")
        received = f"0x{error.object[error.start]:02X}"
        return f"line {line} is not {self._encoding}: {error.reason}. Received: {received}"


def open_bytes(path: Path) -> io.BufferedReader:
    """The bytes of a file, decompressed."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise DataError(f"{path}: there is no such file") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: this is a folder where a file is needed")
    if not stat.S_ISREG(mode):
        raise DataError(f"{path}: this is not a regular file, and it must be read more than once")
    plain: io.BufferedReader = open(path, "rb", buffering=PEEK_BYTES)  # type: ignore[assignment]  # noqa: SIM115
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
    return io.BufferedReader(cast(io.RawIOBase, gzip.open(path, "rb")), PEEK_BYTES)


def refuse_carriage_returns(path: Path, line: bytes) -> None:
    """Stop at a file without any LF that has CR where lines should end: one giant line otherwise."""
    returns = line.rstrip(b"\r").count(b"\r")
    if returns:
        raise DataError(
            f"{path}: lines must end with LF or CRLF. Received: {returns:,} CR and no LF, "
            "the line ends of old Macintosh systems; convert the file"
        )


def refuse_binary(path: Path, start: bytes, encoding: str) -> None:
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
