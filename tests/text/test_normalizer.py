"""The normalisation of text: goldens, idempotence, and the same under every locale and in tf.data."""

from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tf_transformer.text import Normalizer

DIRTY = Path(__file__).parents[3] / "shared" / "data" / "dirty"


def one(normalizer: Normalizer, text: str) -> str:
    return normalizer.normalize_texts([text])[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \t\r\n", ""),
        ("  two  words ", "two words"),
        ("a\rb", "a b"),
        ("a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei", "a b c d e f g h i"),
        ("a\u00a0b\u3000c\u2009d", "a b c d"),
        ("a\x00b\x1bc\x7fd\u0083e", "a b c d e"),
        ("zero\u200bwidth \u200c\u200d\u2060\u00ad\ufeff", "zero\u200bwidth \u200c\u200d\u2060\u00ad\ufeff"),
        ("ﬁ ① Ａ", "ﬁ ① Ａ"),
        ("\ud800x", "\ufffd\ufffd\ufffdx"),
    ],
)
def test_white_space_and_controls(text: str, expected: str) -> None:
    assert one(Normalizer(), text) == expected


def test_invalid_bytes_become_replacement_characters() -> None:
    bad = [b"a\xffb", b"\xc0\x80", b"\xed\xa0\x80", b"caf\xc3"]
    assert [text.decode() for text in Normalizer()(bad).numpy()] == [
        "a\ufffdb",
        "\ufffd" * 2,
        "\ufffd" * 3,
        "caf\ufffd",
    ]


def test_normal_forms() -> None:
    assert one(Normalizer("nfc"), "cafe\u0301 ﬁ Ω") == "café ﬁ \u03a9"
    assert one(Normalizer("nfkc"), "cafe\u0301 ﬁ\u00a0①  Ａ") == "café fi 1 A"
    assert Normalizer("nfc").custom_ops == ("NormalizeUTF8",)
    assert not Normalizer("nfc").core_ops_only and Normalizer(lowercase=True).core_ops_only
    with pytest.raises(ValueError, match=r'`normal_form` must be "nfc", "nfkc" or None\. Received: \'NFC\''):
        Normalizer("NFC")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`lowercase` must be True or False\. Received: 'no'"):
        Normalizer(lowercase="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`texts` must be a list of strings\. Received: one string, 'a b'"):
        Normalizer().normalize_texts("a b")


def test_lower_case_is_pythons_character_by_character() -> None:
    normalizer = Normalizer(lowercase=True)
    assert one(normalizer, "I Ii İ ı ẞ ß ÀÉ ΟΔΟΣ Ж 𝒜 𐐀") == "i ii i\u0307 ı ß ß àé οδοσ ж 𝒜 𐐨"
    every = [
        chr(code) for code in range(0x21, 0x20000) if not 0xD800 <= code < 0xE000 and not chr(code).isspace()
    ]
    every = [text for text in every if text.isprintable()]
    assert normalizer.normalize_texts(every) == [text.lower() for text in every]


def test_lower_case_recomposes() -> None:
    assert one(Normalizer("nfc", lowercase=True), "J\u030c") == "\u01f0"
    assert one(Normalizer(lowercase=True), "J\u030c") == "j\u030c"


NORMALIZERS = [Normalizer(form, lower) for form in (None, "nfc", "nfkc") for lower in (False, True)]  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(), min_size=1, max_size=11))
def test_twice_is_once_and_output_is_clean(texts: list[str]) -> None:
    for normalizer in NORMALIZERS:
        once = normalizer.normalize_texts(texts)
        assert normalizer.normalize_texts(once) == once
        assert all(text == " ".join(text.split()) for text in once)


def test_shapes_and_tf_data() -> None:
    normalizer = Normalizer(lowercase=True)
    assert normalizer([[" A "], ["B"]]).numpy().tolist() == [[b"a"], [b"b"]]
    assert normalizer(" A ").numpy() == b"a"
    assert normalizer.normalize_texts([]) == []
    data = tf.data.Dataset.from_tensor_slices([" A", "B  C", "\tD"]).batch(2).map(normalizer)
    assert [row.tolist() for row in data.as_numpy_iterator()] == [[b"a", b"b c"], [b"d"]]


@pytest.mark.skipif(not DIRTY.exists(), reason="the dirty corpus is not there")
@pytest.mark.parametrize(("form", "equal"), [("nfc", {1, 2, 3, 7, 8, 9, 10}), ("nfkc", set(range(1, 11)))])
def test_dirty_normal_forms(form: str, equal: set[int]) -> None:
    sides = [(DIRTY / f"29_normal_forms.{side}").read_text("utf-8").split("\n")[:10] for side in ("de", "en")]
    left, right = (Normalizer(form).normalize_texts(lines) for lines in sides)  # type: ignore[arg-type]
    assert {number for number in range(1, 11) if left[number - 1] == right[number - 1]} == equal


RUNNING = " Two\r\n  lines,\tand \r\n\r\na third\r one\u2028here\n"


def test_running_text_keeps_its_lines_or_all() -> None:
    assert one(Normalizer(keep="words"), RUNNING) == "Two lines, and a third one here"
    assert one(Normalizer(keep="lines"), RUNNING) == "Two\nlines, and\n\na third\none here\n"
    assert one(Normalizer(keep="all"), RUNNING) == " Two\n  lines,\tand \n\na third\n one\u2028here\n"
    assert one(Normalizer("nfc", True, "all"), "A\u0301\n") == "á\n"
    assert Normalizer().options == {"normal_form": None, "lowercase": False}
    assert Normalizer(**Normalizer(keep="all").options).keep == "all"
    with pytest.raises(ValueError, match=r'`keep` must be "words", "lines" or "all"\. Received: \'tabs\''):
        Normalizer(keep="tabs")  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(st.sampled_from("ab \t\n\r\u2028\u00a0\x00\x85")), min_size=1, max_size=11))
def test_lines_are_each_what_a_text_is(texts: list[str]) -> None:
    words, lines, all_of_it = (Normalizer(keep=keep) for keep in ("words", "lines", "all"))  # type: ignore[arg-type]
    for text, kept, whole in zip(
        texts, lines.normalize_texts(texts), all_of_it.normalize_texts(texts), strict=True
    ):
        ends = text.replace("\r\n", "\n").replace("\r", "\n")
        assert whole == ends
        assert kept.split("\n") == words.normalize_texts(ends.split("\n"))
        assert one(lines, kept) == kept and one(all_of_it, whole) == whole
