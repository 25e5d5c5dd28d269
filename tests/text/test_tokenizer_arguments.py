"""Arguments that no tokenizer takes are named."""

import math
from typing import Any

import pytest
import tensorflow as tf
from tokenizer_kinds import KINDS

from tf_transformer.errors import TextError
from tf_transformer.text import Tokenizer, import_tokenizer, train_tokenizer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": "a b"}, r"`texts` must be a list of strings\. Received: one string, 'a b'"),
        ({"texts": ["a", 1]}, r"`texts` must be a list of strings\. Received: int at place 1"),
        ({"kind": ["words"]}, r"`kind` must be one of .*Received: \['words'\]"),
        ({"vocabulary_size": 300.0}, r"`vocabulary_size` must be a whole number, .*Received: 300\.0"),
        ({"vocabulary_size": 10**12}, r"`vocabulary_size` must be from 1 to 2147483647\. Received: 10{12}"),
        ({"unknown_mark": None}, r"`unknown_mark` must be a string\. Received: None"),
        ({"unknown_mark": "a\nb"}, r"`unknown_mark` must have no line breaks .*Received: 'a\\nb'"),
        ({"unknown_mark": "\ud800"}, r"`unknown_mark` must have no line breaks .*Received: '\\ud800'"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_arguments_of_every_kind(kind: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        train_tokenizer(**{"kind": kind, "texts": ["a b"], "vocabulary_size": 300, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"byte_fallback": "no"}, r"`byte_fallback` must be True or False\. Received: 'no'"),
        ({"character_coverage": "1"}, r"`character_coverage` must be a finite number, .*Received: '1'"),
        ({"character_coverage": math.nan}, r"`character_coverage` must be a finite number, .*Received: nan"),
    ],
)
def test_wrong_arguments_of_sentencepiece(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        train_tokenizer("sentencepiece", ["a b"], 300, **arguments)


def test_wrong_arguments(tokenizer: Tokenizer) -> None:
    with pytest.raises(TypeError, match=r"`ids` must be integers\. Received: float32"):
        tokenizer.detokenize([[4.0]])
    with pytest.raises(ValueError, match=r"`strings` must have the shape \[B\]\. Received: shape \(1, 1\)"):
        tokenizer.tokenize([["a"]])
    for ids in ([4, 5], [[[4, 5]]], 4):
        with pytest.raises(ValueError, match=r"`ids` must have the shape \[B, T\]\. Received: shape \("):
            tokenizer.detokenize(ids)
    for wrong in (100_000, -1):
        with pytest.raises(tf.errors.OpError):
            tokenizer.detokenize(tf.constant([[wrong]]))


def test_arguments_of_training_and_importing() -> None:
    with pytest.raises(ValueError, match=r"`kind` must be one of .*, bytes\. Received: 'bpe'"):
        train_tokenizer("bpe", ["a"])
    with pytest.raises(
        ValueError, match=r"`model_type` and `byte_fallback` must be left alone .*kind='words'"
    ):
        train_tokenizer("words", ["a"], byte_fallback=False)
    with pytest.raises(
        ValueError, match=r"`character_coverage` must be None with .*'bytes'\. Received: 0\.99"
    ):
        train_tokenizer("bytes", ["a"], character_coverage=0.99)
    with pytest.raises(ValueError, match=r'`kind` must be one that has a file.* Received: "bytes"'):
        import_tokenizer("bytes", "nothing")
    for kind in ("words", "characters"):
        with pytest.raises(ValueError, match=r"`vocabulary_size` must be at least 5\. Received: 4"):
            train_tokenizer(kind, ["a"], 4)
    for kind in KINDS[:-1]:
        with pytest.raises(TextError, match=r"needs at least one text that is not empty\. Received: none"):
            train_tokenizer(kind, ["", ""], 300)
