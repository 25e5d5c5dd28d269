"""Bytes of files to lines: encodings, compression, line ends, and the refusal of what is not text."""

import gzip
import re
from pathlib import Path

import pytest

from tf_transformer.data import lines
from tf_transformer.data.lines import LineReader, check_encoding
from tf_transformer.errors import DataError


def _read(path: Path, content: bytes, encoding: str = "utf-8") -> tuple[list[str], LineReader]:
    path.write_bytes(content)
    reader = LineReader(path, encoding)
    return list(reader), reader


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one", ["one"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\r\ntwo\n\n", ["one", "two", ""]),
        (b"a\rb\nc\n", ["a\rb", "c"]),
        ("a\u2028b\u0085c\x0bd\x0ce\x1cf\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\x1cf"]),
        (b"\xef\xbb\xbfone\n", ["one"]),
        (b"\xef\xbb\xbf", []),
        ("one\n\ufefftwo\n".encode(), ["one", "\ufefftwo"]),
    ],
)
def test_a_line_ends_with_lf_or_crlf_only(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    texts, reader = _read(tmp_path / "file", content)
    assert texts == expected
    assert reader.count == len(expected)
    assert not reader.bad and not reader.notes


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "gb18030"])
@pytest.mark.parametrize("asked", ["utf-8", "latin-1"])
def test_a_byte_order_mark_decides_and_is_told(tmp_path: Path, codec: str, asked: str) -> None:
    content = "\ufeffgrün 上\r\n\u010a𝄞\n".encode(codec)
    texts, reader = _read(tmp_path / "file", content, asked)
    assert texts == ["grün 上", "\u010a𝄞"]  # U+010A has the byte 0A in UTF-16, which is no line end
    assert reader.notes == [f"{tmp_path}/file is read as {codec}, as its byte-order mark says"]


def test_an_encoding_that_is_given_is_used(tmp_path: Path) -> None:
    assert _read(tmp_path / "a", "ä\nb".encode("latin-1"), "latin-1")[0] == ["ä", "b"]
    assert _read(tmp_path / "b", "ä\nb".encode("utf-16-be"), "utf-16-be")[0] == ["ä", "b"]
    assert _read(tmp_path / "c", "上\n下".encode("gb18030"), "gb18030")[0] == ["上", "下"]
    assert _read(tmp_path / "d", "a\nb".encode("cp037"), "cp037")[0] == ["a", "b"]  # LF is 0x25 in EBCDIC
    assert _read(tmp_path / "e", "\ufeffä".encode(), "utf-8-sig")[0] == ["ä"]


def test_a_doubtful_encoding_is_told(tmp_path: Path) -> None:
    _, reader = _read(tmp_path / "a", "ä\nö".encode(), "latin-1")
    assert reader.notes == [
        f"{tmp_path}/a is read as iso8859-1, but all its lines are valid UTF-8: is `encoding` right?"
    ]


@pytest.mark.parametrize(
    ("encoding", "content", "detail"),
    [
        ("utf-7", b"ok\n+2AA-\nok\n", r"the line \(from byte 4 of the file\) is not utf-7: .*surrogates"),
        ("idna", b"ok\nxn--0\nok\n", r"the line \(from byte 4 of the file\) is not idna: "),
    ],
)
def test_what_an_odd_codec_makes_of_a_line_is_never_half_a_character(
    tmp_path: Path, encoding: str, content: bytes, detail: str
) -> None:
    texts, reader = _read(tmp_path / "file", content, encoding)
    assert texts[0] == texts[2] == "ok" and list(reader.bad) == [2]
    assert re.search(detail, reader.bad[2].detail)
    "".join(texts).encode()


def test_an_odd_codec_that_refuses_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"file: line 1, or one after it, is not punycode: "):
        _read(tmp_path / "file", b"a\nb+\n", "punycode")


@pytest.mark.parametrize("encoding", ["utf-9", "base64", "", "hex", "utf\0"])
def test_an_unknown_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(ValueError, match=r"must be the name of a text encoding.*Received: ") as caught:
        check_encoding(encoding)
    assert str(caught.value).endswith(f"Received: {encoding!r}")


def test_bad_bytes_are_named_by_line_offset_and_value(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfok\nab\xe4c\nok\n\xc0\xaf\xed\xa0\x80\nx\xe2\x82"
    texts, reader = _read(tmp_path / "file", content)
    assert texts[0] == texts[2] == "ok" and reader.count == 5
    assert {line: fault.detail for line, fault in reader.bad.items()} == {
        2: "byte 3 of the line (byte 9 of the file) is not utf-8. Received: 0xE4",
        4: "byte 1 of the line (byte 15 of the file) is not utf-8. Received: 0xC0",
        5: "byte 2 of the line (byte 22 of the file) is not utf-8. Received: 0xE2",
    }


def test_a_nul_is_a_bad_line(tmp_path: Path) -> None:
    _, reader = _read(tmp_path / "file", b"some text of usual length\nab\0c\n" * 2)
    assert list(reader.bad) == [2, 4]
    assert reader.bad[2].detail == "character 3 is a NUL, which no text has"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_refused_with_a_hint(tmp_path: Path, codec: str) -> None:
    rule = f"NUL: this is not utf-8. It may be {codec} without a byte-order mark"
    with pytest.raises(DataError, match=rule):
        _read(tmp_path / "file", "hello\nworld\n".encode(codec))
    with pytest.raises(DataError, match="utf-16 without a byte-order mark leaves the order"):
        _read(tmp_path / "file", "hello\nworld\n".encode(codec), "utf-16")


def test_bad_utf_16_is_refused_with_its_line(tmp_path: Path) -> None:
    content = "\ufeffa\nb".encode("utf-16-le") + b"\x00\xd8"
    with pytest.raises(DataError, match=r"line 2 is not utf-16-le: .*Received: 0x00"):
        _read(tmp_path / "file", content)


@pytest.mark.parametrize("content", [b"one\rtwo\rthree\r", b"one\rtwo"])
def test_cr_alone_as_line_end_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"must end with LF or CRLF. Received: [12] CR and no LF"):
        _read(tmp_path / "file", content)


def test_an_endless_line_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 7)
    texts, reader = _read(tmp_path / "file", b"123456\n1234567\n12345678901234567890\nok\n1234567890")
    assert texts == ["123456", "", "", "ok", ""]
    assert {line: fault.detail for line, fault in reader.bad.items()} == {
        2: "a line must have fewer than 7 bytes. Received: 8",
        3: "a line must have fewer than 7 bytes. Received: 21",
        5: "a line must have fewer than 7 bytes. Received: 10",
    }
    with pytest.raises(DataError, match="1 CR and no LF"):
        _read(tmp_path / "file", b"one\rtwo, and no end of it")
    assert _read(tmp_path / "file", b"one\rtwo, and its end\nok")[0] == ["", "ok"]


def test_gzip_is_read_by_its_name(tmp_path: Path) -> None:
    packed = gzip.compress("ä\r\nb\n".encode()) + gzip.compress(b"c\n")
    assert _read(tmp_path / "file.gz", packed)[0] == ["ä", "b", "c"]
    assert _read(tmp_path / "wide.GZ", gzip.compress("\ufeffä\nb".encode("utf-16-le")))[0] == ["ä", "b"]
    assert _read(tmp_path / "none.gz", b"")[0] == _read(tmp_path / "void.gz", gzip.compress(b""))[0] == []


def zipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)  # the same bytes at any time of day: they name the tests


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("plain.gz", b"plain text", "name ends in .gz, but the content is not gzip"),
        ("text.en", zipped(b"text"), "content is gzip, but the name does not end in .gz"),
        ("cut.gz", zipped(bytes(range(256)) * 9)[:-9], "the gzip file is cut short or damaged"),
        ("sum.gz", zipped(b"a\nb\n")[:-5] + b"12345", "cut short or damaged after line"),
        ("bad.gz", zipped(b"ab")[:10] + b"\xff" * 9, "the gzip file is cut short or damaged"),
        ("twice.gz", zipped(zipped(b"a")), "text is needed.*Received: gzip data"),
        ("a.zip", b"PK\x03\x04rest", "text is needed.*Received: zip data"),
        ("a.xz", b"\xfd7zXZ\x00rest", "text is needed.*Received: xz data"),
        ("a.bz2", b"BZh91AY&SYrest", "text is needed.*Received: bzip2 data"),
        ("a.tar", b"a".ljust(257, b"\0") + b"ustar", "text is needed.*Received: tar data"),
    ],
)
def test_what_is_not_text_is_refused(tmp_path: Path, name: str, content: bytes, rule: str) -> None:
    with pytest.raises(DataError, match=rule) as caught:
        _read(tmp_path / name, content)
    assert str(caught.value).startswith(str(tmp_path / name)) and "\n" not in str(caught.value)


def test_what_cannot_be_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, rule in [
        (tmp_path / "none", "there is no such file"),
        (tmp_path, "this is a folder where a file is needed"),
        (Path("/dev/null"), "this is not a regular file"),
    ]:
        with pytest.raises(DataError, match=f"{re.escape(str(path))}: {rule}"):
            list(LineReader(path))
    (tmp_path / "file").write_text("a")

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)  # root may read everything, so the refusal is injected
    with pytest.raises(DataError, match="the file cannot be read: Permission denied"):
        list(LineReader(tmp_path / "file"))
