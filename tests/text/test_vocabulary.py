"""Vocabulary files: one token a line whatever the corpus held, and nothing that shifts ids goes unseen."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text.vocabulary import Vocabulary, escape, read_saved, read_vocabulary, unescape


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "vocabulary.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def test_special_tokens_come_first_and_only_once() -> None:
    assert Vocabulary.of(["a", "b"]).tokens == ("<pad>", "<unk>", "<s>", "</s>", "a", "b")
    with pytest.raises(ValueError, match=r"`tokens` must begin with .*Received: \('a',\)"):
        Vocabulary(("a",))
    with pytest.raises(ValueError, match=r"`tokens` must be distinct and not empty\. Received: '<s>' at 5"):
        Vocabulary.of(["a", "<s>"])
    with pytest.raises(ValueError, match=r"distinct and not empty\. Received: '' at 4"):
        Vocabulary.of([""])


ODD = [
    "a\rb",
    "a\nb",
    "a\tb",
    " ",
    "\u0085",
    "\u2028",
    "\u2029",
    "\x1c",
    "\x0b",
    "\u00a0",
    "\ufeff",
    "\\u0041",
    "\\",
]


def test_odd_characters_do_not_add_lines(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of(ODD)
    path = written(tmp_path, vocabulary.to_bytes())
    text = path.read_bytes().decode("utf-8")
    assert len(text.splitlines()) == text.count("\n") == len(vocabulary) == 4 + len(ODD)
    assert read_saved(path, len(vocabulary)) == vocabulary
    assert read_vocabulary(path) == vocabulary


@given(st.text())
def test_escape_is_undone(token: str) -> None:
    assert unescape(escape(token)) == token
    assert len(escape(token).splitlines()) <= 1


@pytest.mark.parametrize(
    "content",
    [
        "the\t12\ncat\t3\n",
        "the 12\ncat 3\n",
        "<unk>\t0\nthe\t-1.5\ncat\t-2e-3\n",
        "the\r\ncat\r\n",
        b"\xef\xbb\xbfthe\ncat",
    ],
    ids=["counts", "counts after a space", "scores", "CRLF", "BOM, no last line feed"],
)
def test_forms_of_other_tools(tmp_path: Path, content: str | bytes) -> None:
    assert read_vocabulary(written(tmp_path, content)).ordinary == ("the", "cat")


def test_foreign_special_tokens_move_to_our_ids(tmp_path: Path) -> None:
    path = written(tmp_path, "[PAD]\ncat\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    assert read_vocabulary(path).tokens == (*SPECIAL_TOKENS, "cat", "[MASK]")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the\ncat\nthe\n", r"line 3: a token must be there once\. Received: 'the', which line 1 has"),
        ("<s>\nthe\n<s>\n", r"line 3: a token must be there once\. Received: '<s>', which line 1 has"),
        ("the\n\ncat\n", r"line 2: a line must hold a token\. Received: an empty line"),
        (
            "the\nc\u0083t\n",
            r"line 2: a token must not hold white space, control .*\\u0083.*Received: 'c\\x83t'",
        ),
        ("the\nca\rt\n", r"line 2: .*\(write \\u000d for one"),
        ("the\nca\u2028t\n", r"line 2: .*\(write \\u2028 for one"),
        ("the\t12\ncat\n", r"line 1: .*or give every line a second column\)\. Received: 'the\\t12'"),
        ("the\n \n", r"line 2: .*\(write \\u0020 for one"),
        (b"the\nc\xfft\n", r"line 2: must be UTF-8\. Received: byte 0xFF at offset 5"),
        ("<pad>\n", r"must hold a token that is not special\. Received: 1 lines"),
        ("", r"must hold a token that is not special\. Received: 0 lines"),
    ],
)
def test_what_would_shift_ids_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(TextError, match=rf"vocabulary\.txt.*{message}"):
        read_vocabulary(written(tmp_path, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        TextError, match=r"nothing\.txt: must be a file that can be read\. Received: No such file"
    ):
        read_vocabulary(tmp_path / "nothing.txt")


def test_a_saved_file_of_another_size_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, Vocabulary.of(["a", "b"]).to_bytes() + b"c\n")
    with pytest.raises(TextError, match=r"vocabulary\.txt: must have 6 lines, .*Received: 7 lines"):
        read_saved(path, 6)
    with pytest.raises(TextError, match=r"vocabulary\.txt: `tokens` must begin with"):
        read_saved(written(tmp_path, "a\nb\n"), 2)
