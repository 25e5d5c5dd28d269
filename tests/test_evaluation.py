"""Figures of a set: by hand for fixed logits, and sacreBLEU's own on the text that a search gives."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sacrebleu
import tensorflow as tf

from tf_transformer.evaluation import TeacherForced, translate_and_score
from tf_transformer.text import Normalizer

PROBABILITIES = [0.0001, 0.1, 0.2, 0.2999, 0.4]


def fixed(inputs: dict[str, tf.Tensor], training: bool) -> tf.Tensor:
    """A model that always believes the same."""
    assert training is False
    shape = tf.concat([tf.shape(inputs["target_ids"]), [len(PROBABILITIES)]], 0)
    return tf.broadcast_to(tf.constant(np.log(PROBABILITIES), tf.float32), shape)


def batch(labels: list[list[int]]) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    ids = tf.constant(labels, tf.int32)
    return {"source_ids": ids, "target_ids": ids}, ids


def test_figures_are_over_real_tokens_whatever_the_batches() -> None:
    measure = TeacherForced(fixed, 0.0)
    figures = measure([batch([[4, 4, 4], [2, 0, 0]]), batch([[1]])])
    nats = -(3 * math.log(0.4) + math.log(0.2) + math.log(0.1)) / 5
    assert figures == pytest.approx({"loss": nats, "perplexity": math.exp(nats), "accuracy": 0.6})
    again = measure([batch([[1, 0], [4, 0]]), batch([[4, 2, 4, 0, 0]])])
    assert again == pytest.approx(figures)


def test_smoothing_is_in_the_loss_and_not_in_the_perplexity() -> None:
    figures = TeacherForced(fixed, 0.4)([batch([[4]])])
    logs = np.log(PROBABILITIES[1:])
    assert figures["loss"] == pytest.approx(-0.6 * logs[-1] - 0.1 * logs.sum(), rel=1e-5)
    assert figures["perplexity"] == pytest.approx(2.5)


def test_padding_is_never_a_hit() -> None:
    def sure_of_padding(inputs: dict[str, tf.Tensor], training: bool) -> tf.Tensor:
        return tf.one_hot(tf.zeros_like(inputs["target_ids"]), 5)

    assert TeacherForced(sure_of_padding, 0.0)([batch([[4, 0, 0, 0]])])["accuracy"] == 0.0


def test_a_perplexity_beyond_all_bounds_is_still_a_number() -> None:
    def wrong(inputs: dict[str, tf.Tensor], training: bool) -> tf.Tensor:
        return 1e4 * tf.one_hot(tf.ones_like(inputs["target_ids"]), 5)

    assert math.isfinite(TeacherForced(wrong, 0.0)([batch([[4]])])["perplexity"])


def test_nothing_to_evaluate_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"must hold at least one real token\. Received: none"):
        TeacherForced(fixed, 0.0)([batch([[0, 0]])])


class Parrot:
    """A translator that answers with what it heard."""

    def __init__(self, normalizer: Normalizer) -> None:
        self.preprocessor = SimpleNamespace(normalizer=normalizer)
        self.search: dict[str, Any] = {}

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        self.search = search
        return [text.lower() for text in texts]


SOURCES = ["The cat sat on a mat.", "A dog, too!", "And so it ends"]
REFERENCES = [["the cat sat on the mat.", "a dog too!", "and so it ends"], ["a cat sat.", "a dog,", "so"]]


@pytest.mark.parametrize("tokenize", ["13a", "char"])
def test_the_score_is_sacrebleus_of_the_text_and_all_references(tokenize: str) -> None:
    task: Any = Parrot(Normalizer())
    answers, scores = translate_and_score(task, SOURCES, REFERENCES, tokenize=tokenize, beam_size=3)
    assert answers == [text.lower() for text in SOURCES]
    assert task.search == {"beam_size": 3}
    expected = sacrebleu.corpus_bleu(answers, REFERENCES, tokenize=tokenize).score
    assert scores.values["bleu"] == pytest.approx(expected)
    assert scores.values["exact_match"] == pytest.approx(100 / 3)
    assert f"tok:{tokenize}" in scores.signatures["bleu"] and "nrefs:2" in scores.signatures["bleu"]


def test_references_pass_the_recipes_normalizer() -> None:
    task: Any = Parrot(Normalizer(normal_form="nfkc", lowercase=True))
    references = [["THE CAT  SAT ON A MAT.", "A DOG, TOO!", "AND SO ＩＴ ENDS"]]
    scores = translate_and_score(task, SOURCES, references, tokenize="13a", complete=False)[1]
    assert scores.values["bleu"] == pytest.approx(100.0)
    assert "exact_match" not in scores.values
