"""Figures of language models: by hand, exact whatever the windows, and samples from the text itself."""

import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.windows import evaluation_windows
from tf_transformer.evaluation import EvaluationSet, Sample
from tf_transformer.evaluation.language_modelling import LanguageModelEvaluator, beginnings
from tf_transformer.evaluation.teacher_forced import TeacherForced
from tf_transformer.models import LanguageModel
from tf_transformer.text import LanguagePreprocessor, Normalizer


class Even(keras.Model):
    """Finds all pieces equally likely."""

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        self.vocabulary_size = vocabulary_size
        self.built = True

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        return tf.zeros([*tf.unstack(tf.shape(inputs["target_ids"])), self.vocabulary_size])


class Task:
    """Goes on with dots, as many as it may write."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def generate(self, prompts: Sequence[str], max_length: int = 0) -> list[str]:
        return ["." * max_length for _ in prompts]


def side(kind: str, has_end: bool) -> LanguagePreprocessor:
    return LanguagePreprocessor.train(
        ["abé\n"], kind, 260, normalizer=Normalizer(keep="all"), has_end=has_end
    )


def made(texts: list[str], side: LanguagePreprocessor, window: int, stride: int) -> EvaluationSet:
    ids = side.encode_text(tf.constant(texts))
    lengths = ids.row_lengths().numpy()
    zeros = np.zeros(len(texts), np.int64)
    encoded = EncodedCorpus({"text": ids}, {"text": lengths}, zeros, zeros + 1, ())
    windows = evaluation_windows(encoded, window, stride, 4 * window, side.assemble)
    return EvaluationSet("dev", {"text": texts}, windows)


def evaluator(
    model: Any, has_end: bool, window: int, stride: int, samples: int = 2
) -> LanguageModelEvaluator:
    forced = TeacherForced(model, 0.0)
    return LanguageModelEvaluator(
        Task(model), forced, has_end=has_end, window=window, stride=stride, samples=samples
    )


def test_figures_by_hand() -> None:
    # 8 ids, so each of the pieces costs ln 8; é is one character and two bytes, z is not in the vocabulary.
    texts = ["abéz", "b"]
    found = evaluator(Even(8), True, 3, 2).full(made(texts, side("characters", True), 3, 2))
    nats = 7 * math.log(8)  # five characters and two ends
    assert found.figures == pytest.approx(
        {
            "loss": math.log(8),
            "perplexity": 8.0,
            "accuracy": 0.0,
            "nats_per_character": nats / 7,
            "bits_per_character": 3.0,
            "bits_per_byte": 21 / 8,
            "nats_per_token": math.log(8),
            "unknown": 1,
        }
    )
    assert found.signatures == {"nats_per_character": "window:3|stride:2|pieces:7|characters:7|unknown:1"}
    assert found.brief == f"{math.log(8):.4f} nats a character, {found.signatures['nats_per_character']}"
    assert list(found.lines) == [
        "  a character 2.0794 nats, 3.0000 bits, 2.6250 bits a byte",
        "  a piece     2.0794 nats, perplexity 8.00",
        "  each of 7 pieces, 7 characters, counts once, in windows of 3 that begin every 2: predicted from "
        "at least 1 piece, but for the first 3 of a text",
        "  1 piece (14.29%) are not in the vocabulary: it is predicted that they are unknown, not which they "
        "are",
    ]


def test_bytes_and_texts_without_an_end() -> None:
    found = evaluator(Even(260), False, 4, 4).full(made(["abé"], side("bytes", False), 4, 4))
    nats = 4 * math.log(260)
    assert found.figures["nats_per_character"] == pytest.approx(nats / 3)
    assert found.figures["bits_per_byte"] == pytest.approx(math.log2(260))
    assert found.figures["unknown"] == 0 and len(found.lines) == 3


@pytest.mark.parametrize("has_end", [False, True])
def test_windows_that_hold_whole_texts_give_what_a_loop_gives(has_end: bool) -> None:
    texts = ["abbabé\nab", "", "ba"] if has_end else ["abbabé\nab", "ba"]
    used = side("characters", has_end)
    model = LanguageModel(8, num_layers=1, hidden_dim=6, intermediate_dim=11, num_heads=3, seed=7)
    for window, stride in ((16, 8), (3, 2), (3, 3)):
        total = 0.0
        for text in texts:
            labels = used.encode_text(tf.constant([text])).numpy()[0].tolist()
            for place, label in enumerate(labels):
                begin = 0 if place < window else stride * -(-(place + 1 - window) // stride)
                logits = model({"target_ids": np.array([[2, *labels[begin:place]]])})[0, -1]
                total -= float(tf.nn.log_softmax(logits)[label])
        figures = (
            evaluator(model, has_end, window, stride).choosing(made(texts, used, window, stride)).figures
        )
        pieces = sum(map(len, texts)) + len(texts) * has_end
        assert figures["nats_per_token"] == pytest.approx(total / pieces, rel=1e-5)
        assert figures["loss"] == pytest.approx(figures["nats_per_character"])


def test_validation_shows_how_it_goes_on() -> None:
    texts = ["ab" * 50 + "\n" + "b" * 200]
    found = evaluator(Even(8), False, 8, 4).quick(made(texts, side("characters", False), 8, 4))
    assert list(found.samples) == [
        Sample("ab" * 30, "ab" * 20 + "\n" + "b" * 79, "." * 120),
        Sample("b" * 60, "b" * 120, "." * 120),
    ]
    assert not evaluator(Even(8), False, 8, 4, 0).quick(made(texts, side("characters", False), 8, 4)).samples


def test_beginnings_are_from_all_over_the_texts() -> None:
    assert beginnings(["abcdef", "gh", "ijk"], 2, True) == [("ab", "cdef"), ("i", "jk")]
    assert beginnings(["a", "b"], 5, True) == [("a", ""), ("b", "")]
    # 12 characters: places 3 and 9 lie in the second line, and in the second text.
    assert beginnings(["ab\ncd\n", "ef\ngh\n"], 2, False) == [("cd\n", ""), ("gh\n", "")]
    assert beginnings(["ab"], 0, False) == [] == beginnings(["ab"], 0, True)
