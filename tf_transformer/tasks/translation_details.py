"""Translations read once more from beginning to end: how likely each piece is, and where it comes from.

Shapes: B sentences, S source pieces, K hypotheses, T target pieces.
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tf_transformer.decoding.drawing import token_log_probabilities
from tf_transformer.presets import END_ID, START_ID
from tf_transformer.tasks.hypothesis import Details
from tf_transformer.text import Preprocessor


class Reread(NamedTuple):
    """What a model says of given targets.

    Attributes:
        log_probabilities: float32 `[B, K, T + 1]`, of the pieces and the end token; 0 behind them.
        attention: float32 `[B, K, T + 1, S]`.
    """

    log_probabilities: tf.Tensor
    attention: tf.Tensor


def reread(
    model: Any, source_ids: tf.Tensor, ids: tf.Tensor, pieces: tf.Tensor, finished: tf.Tensor
) -> Reread:
    """Reads targets by one pass of the decoder.

    Args:
        model: Has `encode` and `decode_attending`.
        source_ids: int32 `[B, S]`.
        ids: int32 `[B, K, T]`, zero-padded, without start and end.
        pieces: int32 `[B, K]`, how many of them are real.
        finished: bool `[B, K]`, whether the end token follows.
    """
    shape = tf.shape(ids)
    memory = model.encode(source_ids, training=False)
    memory = tf.nest.map_structure(lambda part: tf.repeat(part, shape[1], axis=0), memory)
    labels = tf.pad(ids, [[0, 0], [0, 0], [0, 1]])
    is_end = (tf.range(shape[2] + 1) == pieces[..., tf.newaxis]) & finished[..., tf.newaxis]
    labels = tf.where(is_end, END_ID, labels)
    flat = tf.reshape(ids, [shape[0] * shape[1], shape[2]])
    logits, attention = model.decode_attending(
        tf.pad(flat, [[0, 0], [1, 0]], constant_values=START_ID), memory
    )
    flat_labels = tf.reshape(labels, [shape[0] * shape[1], shape[2] + 1])
    found = token_log_probabilities(tf.cast(logits, tf.float32), flat_labels)
    found = tf.reshape(found, tf.shape(labels))
    counts = tf.range(shape[2] + 1) < (pieces + tf.cast(finished, tf.int32))[..., tf.newaxis]
    attention = tf.reshape(attention, tf.concat([tf.shape(labels), tf.shape(source_ids)[1:]], axis=0))
    return Reread(tf.where(counts, found, 0.0), attention)


def details_of(
    preprocessor: Preprocessor,
    source_ids: Any,
    ids: Any,
    pieces: int,
    finished: bool,
    log_probabilities: Any,
    attention: Any,
) -> Details:
    """The details of one hypothesis.

    Args:
        preprocessor: Of the translator.
        source_ids: `[S]`, zero-padded.
        ids: `[T]`, likewise.
        pieces: How many of them are real.
        finished: Whether the end token follows.
        log_probabilities: `[T + 1]`, see `Reread`.
        attention: `[T + 1, S]`, likewise.
    """
    source = source_ids[source_ids != 0]
    attention = attention[: pieces + finished, : len(source)]
    is_text = source < preprocessor.source_tokenizer.vocabulary_size
    is_text[-1:] = False  # the end token
    alignment = np.full(pieces, -1)
    if is_text.any():
        alignment = np.argmax(np.where(is_text, attention[:pieces], -1.0), axis=1)
    source_names, names = preprocessor.source_tokens, preprocessor.target_tokenizer.tokens
    return Details(
        pieces=tuple(names[number] for number in ids[:pieces]),
        log_probabilities=tuple(log_probabilities[: pieces + finished].tolist()),
        source_pieces=tuple(source_names[number] for number in source),
        attention=tuple(tuple(row) for row in attention.tolist()),
        alignment=tuple(alignment.tolist()),
    )
