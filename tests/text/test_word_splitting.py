"""Words and punctuation: the rule, and that it loses nothing."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tf_transformer.text import Normalizer
from tf_transformer.text.word_splitting import split_words, surface, tidy


def tokens(text: str, joiners: bool) -> list[str]:
    return [token.decode() for token in split_words(tf.constant([text]), joiners).flat_values.numpy()]


def back(words: list[str], joiners: bool) -> str:
    joined = "".join(surface(word, joiners) for word in words)
    text: bytes = tidy(tf.constant([joined]), joiners).numpy()[0]
    return text.decode()


@pytest.mark.parametrize(
    ("text", "marked", "plain"),
    [
        ("", "", ""),
        ("Hello, world!", "Hello ￭, world ￭!", "Hello , world !"),
        ("don't (go)", "don ￭' ￭t ( ￭go ￭)", "don ' t ( go )"),
        ("...", ". ￭. ￭.", ". . ."),
        ("3.14 a_b", "3 ￭. ￭14 a ￭_ ￭b", "3 . 14 a _ b"),
        ("你好 x", "你 ￭好 x", "你 好 x"),
        ("￭ x￭ ￭￭", "￭ x ￭￭ ￭ ￭￭", "￭ x ￭ ￭ ￭"),
        ("می\u200cخواهم", "می\u200cخواهم", "می\u200cخواهم"),
        ("<s> </s>", "< ￭s ￭> < ￭/ ￭s ￭>", "< s > < / s >"),
    ],
)
def test_split(text: str, marked: str, plain: str) -> None:
    assert tokens(text, True) == marked.split()
    assert tokens(text, False) == plain.split()
    assert back(tokens(text, True), True) == text


@settings(deadline=None, max_examples=150)
@given(st.text(st.one_of(st.characters(), st.sampled_from(" ￭.,'a\u0301🙂👍好\u200d")), max_size=23))
def test_joiners_lose_nothing(text: str) -> None:
    text = Normalizer().normalize_texts([text])[0]
    assert back(tokens(text, True), True) == text


def test_without_joiners_spaces_are_guessed() -> None:
    assert back(["Hello", ",", "(", "world", ")", "!"], False) == "Hello, (world)!"
    assert back(["我", "喜", "欢", "tea", "。"], False) == "我喜欢 tea。"
