"""Models whose answers are known, for what a task does around a model."""

from typing import Any

import pytest
import tensorflow as tf

from tf_transformer.presets import END_ID
from tf_transformer.text import Preprocessor


class Echo:
    """Says the source again, its end token included; a second choice, piece 4, has a tenth of the logit.

    Args:
        max_length: As of a model with learned positions.
    """

    source_vocabulary_size = target_vocabulary_size = 20

    def __init__(self, max_length: int | None = None) -> None:
        self.max_length = max_length

    def encode(self, source_ids: tf.Tensor, training: bool) -> tf.Tensor:
        assert training is False
        return source_ids

    def start_cache(self, memory: tf.Tensor, num_hypotheses: int) -> dict[str, Any]:
        return {"hypotheses": [tf.zeros([tf.shape(memory)[0], num_hypotheses, 0, 1])], "shared": memory}

    def step(self, ids: tf.Tensor, cache: dict[str, Any]) -> tuple[tf.Tensor, dict[str, Any]]:
        (seen,), source = cache["hypotheses"], cache["shared"]
        time = tf.shape(seen)[2]
        new = tf.zeros([tf.shape(ids)[0], tf.shape(ids)[1], 1, 1])
        return self.logits(ids, source, time), {"hypotheses": [tf.concat([seen, new], 2)], "shared": source}

    def logits(self, ids: tf.Tensor, source: tf.Tensor, time: tf.Tensor) -> tf.Tensor:
        source = tf.pad(source, [[0, 0], [0, 1]])
        said = tf.gather(source, tf.minimum(time, tf.shape(source)[1] - 1), axis=1)  # [B]
        said = tf.where(said == 0, END_ID, said)
        logits = 20.0 * tf.one_hot(said, 20) + 2.0 * tf.one_hot(4, 20)
        return tf.tile(logits[:, tf.newaxis], [1, tf.shape(ids)[1], 1])


class Endless(Echo):
    """Never wants to end."""

    def logits(self, ids: tf.Tensor, source: tf.Tensor, time: tf.Tensor) -> tf.Tensor:
        logits = 20.0 * tf.one_hot(4, 20) - 20.0 * tf.one_hot(END_ID, 20)
        return tf.broadcast_to(logits, tf.concat([tf.shape(ids), [20]], 0))


@pytest.fixture(scope="module")
def words() -> Preprocessor:
    """Sixteen words from "a" on, which is piece 4."""
    letters = " ".join("abcdefghijklmnop")
    return Preprocessor.train([letters], [letters], tokenizer="words")


@pytest.fixture(scope="session")
def echo() -> type[Echo]:
    """A model that repeats."""
    return Echo


@pytest.fixture(scope="session")
def endless() -> type[Endless]:
    """A model that never ends."""
    return Endless
