"""Teacher-forced figures of a set, by hand for fixed logits."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.evaluation.teacher_forced import TeacherForced

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
