"""Lines in, lines out."""

import gzip
from collections.abc import Callable
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
