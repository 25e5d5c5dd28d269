"""Lines in, lines out."""

import gzip
import os
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tf_transformer.cli import texts
from tf_transformer.errors import DataError

READ = [
    (b"", []),
    (b"a", ["a"]),
    (b"a\n", ["a"]),
    (b"a\n\nb\n", ["a", "", "b"]),
    (b"\n", [""]),
    (b"a\r\nb\r\n", ["a", "b"]),
    (b"a\rb\nc\n", ["a\rb", "c"]),
    ("a\u2028b\x85\x0bc\n".encode(), ["a\u2028b\x85\x0bc"]),
    (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
]


@pytest.mark.parametrize(("content", "lines"), READ)
def test_lines_of_a_file_and_of_stdin(
    tmp_path: Path, stdin: Callable[[bytes], None], content: bytes, lines: list[str]
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    stdin(content)
    for source in (path, None):
        with texts.reading(source) as groups:
            assert [line for group in groups for line in group] == lines


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("ü\n".encode()))
    with texts.reading(path) as groups:
        assert list(groups) == [["ü"]]


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)  # the same bytes at any time of day: they name the tests


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (packed(b"a\nb\n" * 999)[:-12], "must be a whole gzip file, as its name says; after line"),
        (b"plain text\n", "as its name says; at its start: Not a gzipped file"),
        (packed(b"a\n") + b"junk", "as its name says; after line 1: Not a gzipped file"),
        (packed(b"a\n")[:12] + b"\xff" * 9, "as its name says; at its start: "),
    ],
)
def test_a_gzip_file_that_is_cut_damaged_or_none_is_named(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(content)
    with texts.reading(path) as groups, pytest.raises(DataError, match=rf"a\.txt\.gz: .*{fault}"):
        list(groups)


def test_what_is_written_as_gzip_is_gzip_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.txt.gz"
    with texts.writing(path) as write:
        write(["a", ""])
        write(["ü"])
    assert gzip.decompress(path.read_bytes()) == b"a\n\n\xc3\xbc\n"
    with texts.reading(path) as groups:
        assert list(groups) == [["a", "", "ü"]]
    with pytest.raises(DataError, match="bad"), texts.writing(path) as write:
        write(["half"])
        raise DataError("bad")
    assert gzip.decompress(path.read_bytes()) == b"a\n\n\xc3\xbc\n"


def test_a_line_that_never_ends_is_read_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_MOST_BYTES", 8)
    path = tmp_path / "a.txt"
    path.write_bytes("abcdefg\nüüüüüü\n1234567ü\nxx\n".encode())
    with texts.reading(path) as groups:
        assert list(groups) == [["abcdefg", "üüüü", "1234567", "xx"]]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("o", None),
        ("there.txt", None),
        ("link", None),
        ("fifo", None),
        (".", "{0}/. is a folder, and answers go to a file"),
        ("folder", "{0}/folder is a folder, and answers go to a file"),
        ("no/such/o", "{0}/no/such/o: there is no folder {0}/no/such"),
        ("there.txt/o", "{0}/there.txt/o: there is no folder {0}/there.txt"),
        ("lost", "{0}/lost: there is no folder {0}/nowhere"),
    ],
)
def test_where_answers_cannot_go(tmp_path: Path, name: str, fault: str | None) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "there.txt").touch()
    (tmp_path / "link").symlink_to("there.txt")
    (tmp_path / "lost").symlink_to("nowhere/o")
    os.mkfifo(tmp_path / "fifo")
    found = texts.output_fault(Path(f"{tmp_path}/{name}"))
    assert found == (fault.format(tmp_path).replace("/. ", " ") if fault else None)


class Screen(TextIOWrapper):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_shown_what_it_would_obey(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, shown in (
        (Screen, b"0.5\ta\\x1b[2Jb\\u202e\n"),
        (TextIOWrapper, "0.5\ta\x1b[2Jb\u202e\n".encode()),
    ):
        content = BytesIO()
        monkeypatch.setattr("sys.stdout", kind(content))
        with texts.writing(None) as write:
            write(["0.5\ta\x1b[2Jb\u202e"])
        assert content.getvalue() == shown


def test_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "LINES_AT_ONCE", 2)
    path = tmp_path / "a.txt"
    path.write_text("1\n2\n3\n4\n5\n")
    with texts.reading(path) as groups:
        assert list(groups) == [["1", "2"], ["3", "4"], ["5"]]


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nb\xe4c\n")
    with (
        texts.reading(path) as groups,
        pytest.raises(DataError, match=r"a\.txt:2: must be UTF-8; received the byte 0xE4"),
    ):
        list(groups)


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with texts.writing(path) as write:
        write(["a", ""])
        write(["ü"])
    assert path.read_bytes() == b"a\n\n\xc3\xbc\n"
    with pytest.raises(DataError, match="bad"), texts.writing(path) as write:
        write(["half"])
        raise DataError("bad")
    assert path.read_bytes() == b"a\n\n\xc3\xbc\n"


def test_an_answer_is_one_line() -> None:
    assert texts.one_line("a\nb\r\nc") == "a b  c"
