"""Running text: whole files, paragraphs and lines, in any encoding; dev sets from the ends of texts."""

import gzip
from pathlib import Path

import pytest

from tf_transformer.data.texts import carve_ends, read_texts
from tf_transformer.errors import DataError

VERSE = "\n\nOne fish,\ntwo fish\n \t\nred fish,\r\n\nblue"


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_file_is_a_text_its_paragraphs_or_its_lines(tmp_path: Path) -> None:
    file = written(tmp_path / "verse.txt", VERSE.encode())
    whole = read_texts(file)
    assert whole.columns == {"text": [VERSE.replace("\r", "")]} and whole.lines.tolist() == [1]
    assert (whole.name, whole.report.read, whole.report.kept) == ("verse.txt", 8, 8)
    paragraphs = read_texts(file, "paragraph", name="fish")
    assert paragraphs.columns["text"] == ["One fish,\ntwo fish", "red fish,", "blue"]
    assert paragraphs.lines.tolist() == [3, 6, 8]
    assert (paragraphs.name, paragraphs.report.read) == ("fish", 3)
    lines = read_texts(file, "line")
    assert lines.columns["text"] == ["", "", "One fish,", "two fish", " \t", "red fish,", "", "blue"]


@pytest.mark.parametrize("text", ["a\n\n\nb\n", "a", "\ta  b \n", "a\x0c\u2028b\rc\n", "\n\na"])
def test_a_whole_text_is_kept_to_the_last_character(tmp_path: Path, text: str) -> None:
    assert read_texts(written(tmp_path / "t", text.encode())).columns["text"] == [text]


def test_any_encoding_compressed_or_not(tmp_path: Path) -> None:
    poem = "床前明月光\n疑是地上霜\n"
    for name, content, encoding in (
        ("a", poem.encode("gb18030"), "gb18030"),
        ("b", "\ufeff".encode("utf-16-le") + poem.encode("utf-16-le"), "utf-8"),
        ("c.gz", gzip.compress(poem.encode("big5", "replace")), "big5"),
    ):
        found = read_texts(written(tmp_path / name, content), encoding=encoding).columns["text"]
        assert found == [content.decode(encoding) if name == "a" else found[0]]
        assert found[0].count("\n") == 2 and found[0].startswith("床前")


def test_a_text_may_be_one_long_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tf_transformer.data.lines.MAX_LINE_BYTES", 7)
    file = written(tmp_path / "long", b"a" * 50)
    assert read_texts(file).columns["text"] == ["a" * 50]
    with pytest.raises(DataError, match=r"long: 1 bad row \(line too long \(text\) 1|line too long"):
        read_texts(file, "line")


def test_bad_lines_stop_or_are_skipped(tmp_path: Path) -> None:
    file = written(tmp_path / "bad", b"one\ntwo\n\nthr\xffee\nfour\n\nfi\0ve\n")
    for unit in ("text", "paragraph"):
        with pytest.raises(
            DataError, match=r"bad: 2 bad rows .*: line 4: byte 4 of the line.*0xFF; line 7: .*NUL"
        ):
            read_texts(file, unit)
    whole = read_texts(file, on_bad_row="skip")
    assert whole.columns["text"] == ["one\ntwo\n\nfour\n\n"]
    assert {reason: found.first for reason, found in whole.report.dropped.items()} == {
        "NUL character": (7,),
        "not utf-8": (4,),
    }
    paragraphs = read_texts(file, "paragraph", on_bad_row="skip")
    assert paragraphs.columns["text"] == ["one\ntwo"] and paragraphs.report.kept == 1


def test_files_without_text(tmp_path: Path) -> None:
    for unit in ("text", "paragraph"):
        for content in (b"", b"\n \n\n"):
            with pytest.raises(DataError, match=r"empty: there is no text in the file"):
                read_texts(written(tmp_path / "empty", content), unit)
    with pytest.raises(DataError, match=r"bad: no line can be used of 1"):
        read_texts(written(tmp_path / "bad", b"\xff"), on_bad_row="skip")
    with pytest.raises(ValueError, match=r"`unit` must be one of text, paragraph, line\. Received: 'word'"):
        read_texts(tmp_path / "bad", "word")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`on_bad_row` must be 'error' or 'skip'\. Received: 'stop'"):
        read_texts(tmp_path / "bad", on_bad_row="stop")  # type: ignore[arg-type]


def test_the_end_of_a_text_is_carved_behind_a_line_end(tmp_path: Path) -> None:
    # 12 characters; three quarters are 9, inside of the third line.
    corpus = read_texts(written(tmp_path / "t", b"ab\ncd\nefgh\ni"))
    rest, carved = carve_ends(corpus, 0.25)
    assert (rest.columns["text"], carved.columns["text"]) == (["ab\ncd\nefgh\n"], ["i"])
    rest, carved = carve_ends(read_texts(written(tmp_path / "v", b"ab\ncdefgh\n")), 0.25)
    assert (rest.columns["text"], carved.columns["text"]) == (["ab\ncdefg"], ["h\n"])
    # No line end follows: exactly there.
    rest, carved = carve_ends(read_texts(written(tmp_path / "u", b"abcdefgh")), 0.25)
    assert (rest.columns["text"], carved.columns["text"]) == (["abcdef"], ["gh"])


def test_carving_leaves_text_on_both_sides(tmp_path: Path) -> None:
    corpus = read_texts(written(tmp_path / "t", b"abcdefgh\n\n"))
    with pytest.raises(DataError, match=r"t: a fraction of 0\.2 of the 10 characters from line 1 on leaves"):
        carve_ends(corpus, 0.2)
    with pytest.raises(ValueError, match=r"`fraction` must be above 0 and below 1\. Received: 1"):
        carve_ends(corpus, 1)
