"""What people look at: a beam whose pieces are known, and all that a model says of one answer.

Shapes: B texts, S source pieces, K hypotheses, T target pieces, A alternatives, H heads.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.decoding.drawing import token_log_probabilities
from tf_transformer.decoding.length_penalty import ranking_score
from tf_transformer.presets import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from tf_transformer.tasks.translation_graph import given_prefixes

ALTERNATIVES = 6
"""How many of the likeliest pieces are told of each place."""

Outputs = dict[str, tf.Tensor]


def explored(
    task: Any,
    texts: tf.Tensor,
    prefix: tf.Tensor,
    prefix_ids: tf.Tensor,
    length_penalty: tf.Tensor,
    repetition_penalty: tf.Tensor,
    **lengths: tf.Tensor,
) -> Outputs:
    """The beam of each text, and the pieces of its hypotheses, by which one can be gone on with.

    Args:
        task: A translator.
        texts: ``[B]`` string.
        prefix: ``[B]`` string, what all hypotheses begin with, behind ``prefix_ids``.
        prefix_ids: ``[B]`` string, pieces that they begin with: see `target_ids`.
        length_penalty: ``[B]`` float32, below 0: the task's own.
        repetition_penalty: ``[B]`` float32, 0 or less: the task's own.
        **lengths: ``min_lengths`` and ``max_lengths``, ``[B]`` int32, below 0: the task's own.

    Returns:
        ``text`` string and ``score`` float32 ``[B, K]``, best first, and ``ids`` int32 ``[B, K, T]``.
    """
    options = replace(task.options, sample=False)
    given = {
        **lengths,
        **given_prefixes(target_ids(task, "prefix_ids", prefix_ids, prefix)),
        "length_penalty": tf.where(length_penalty < 0.0, options.length_penalty, length_penalty),
        "repetition_penalty": tf.where(
            repetition_penalty > 0.0, repetition_penalty, options.repetition_penalty
        ),
    }
    source_ids = task.source_ids(texts).to_tensor(PAD_ID)
    result = task.search(source_ids, options, options.beam_size, given)
    answer = task.texts_of(result)
    return {"text": answer["text"], "score": answer["score"], "ids": result.ids}


def inspected(
    task: Any, texts: tf.Tensor, target: tf.Tensor, given_ids: tf.Tensor, layer: tf.Tensor
) -> Outputs:
    """Reads an answer once, and tells what the model says on the way.

    Args:
        task: A translator.
        texts: ``[B]`` string.
        target: ``[B]`` string, the answer, behind ``given_ids``.
        given_ids: ``[B]`` string, pieces that it begins with, all of the answer say: see `target_ids`.
        layer: ``[B]`` int32, whose attention: 1 is the first one, -1 the last, 0 the mean of all.

    Returns:
        See `ServedTranslator.inspect`.
    """
    source_ids = task.source_ids(texts).to_tensor(PAD_ID)
    ids = target_ids(task, "target_ids", given_ids, target)
    lengths = tf.cast(ids.row_lengths(), tf.int32)  # [B]
    padded = ids.to_tensor(PAD_ID)
    places = tf.range(tf.shape(padded)[1] + 1)
    labels = tf.pad(padded, [[0, 0], [0, 1]])
    labels = tf.where(places == lengths[:, tf.newaxis], END_ID, labels)  # [B, T + 1]
    entered = tf.pad(padded, [[0, 0], [1, 0]], constant_values=START_ID)
    inputs = {"source_ids": source_ids, "target_ids": entered}
    logits = tf.cast(task.model(inputs, training=False), tf.float32)
    is_real = places <= lengths[:, tf.newaxis]
    logs = tf.where(is_real, token_log_probabilities(logits, labels), 0.0)
    totals = tf.reduce_sum(logs, axis=-1)
    options = task.options
    return {
        "text": task.preprocessor.decode_target(padded),
        "score": ranking_score(totals, lengths + 1, options.length_penalty, options.length_formula),
        "log_probability": totals,
        "source_pieces": piece_names(task.preprocessor.source_tokens, source_ids),
        "pieces": piece_names(task.preprocessor.target_tokenizer.tokens, labels),
        "ids": labels,
        "log_probabilities": logs,
        **_alternatives(task, logits, is_real),
        **_attention(task.model, inputs, layer),
    }


def target_ids(task: Any, name: str, ids: tf.Tensor, text: tf.Tensor) -> tf.RaggedTensor:
    """Pieces that are given by their numbers, and behind them those of a text; inside any graph.

    Args:
        task: A translator.
        name: Of `ids`, for a message.
        ids: ``[B]`` string, numbers with a space between each two; padding, start and end are left out. They
            are a text rather than a row of numbers, so that servers may put requests together.
        text: ``[B]`` string.

    Raises:
        tf.errors.InvalidArgumentError: When one is no number or no piece, or there are too many.
    """
    words, size = tf.strings.split(ids), task.preprocessor.target_tokenizer.vocabulary_size
    numbers = tf.strings.to_number(words.flat_values, tf.int32)
    rule = f"`{name}` must be numbers of pieces, below {size}. Received:"
    are_known = tf.reduce_all((numbers >= 0) & (numbers < size))
    with tf.control_dependencies([tf.debugging.Assert(are_known, [rule, ids])]):
        numbers = tf.identity(numbers)
    are_pieces = words.with_flat_values((numbers == UNKNOWN_ID) | (numbers > END_ID))
    given = tf.ragged.boolean_mask(words.with_flat_values(numbers), are_pieces)
    return task.checked(name, tf.concat([given, task.preprocessor.encode_target(text)], axis=1))


def piece_names(tokens: list[str], ids: tf.Tensor) -> tf.Tensor:
    """The pieces of ids, "" for padding."""
    return tf.gather(tf.constant(["", *tokens[1:]]), ids)


def _alternatives(task: Any, logits: tf.Tensor, is_real: tf.Tensor) -> Outputs:
    """The likeliest pieces of each place, of those that an answer may have."""
    tokens = task.preprocessor.target_tokenizer.tokens
    may_come = np.ones(task.preprocessor.target_vocabulary_size, bool)
    may_come[[PAD_ID, START_ID, *task.preprocessor.unanswerable_ids]] = False
    logs = tf.where(may_come, tf.nn.log_softmax(logits), -np.inf)
    found, ids = tf.math.top_k(logs, min(ALTERNATIVES, int(may_come.sum())))  # [B, T + 1, A]
    ids = tf.where(is_real[..., tf.newaxis], ids, PAD_ID)
    return {
        "alternatives": piece_names(tokens, ids),
        "alternative_ids": ids,
        "alternative_log_probabilities": tf.where(is_real[..., tf.newaxis], found, 0.0),
    }


def _attention(model: Any, inputs: dict[str, tf.Tensor], layer: tf.Tensor) -> Outputs:
    weights = model.attention(inputs)
    depths = tf.constant([len(weights["encoder"]), len(weights["cross"])])
    return {
        **{name: _of_layer(blocks, layer) for name, blocks in weights.items()},
        "num_layers": tf.tile(depths[tf.newaxis], [tf.shape(layer)[0], 1]),
    }


def _of_layer(blocks: Sequence[tf.Tensor], layer: tf.Tensor) -> tf.Tensor:
    """Each text's own of the weights ``[B, H, …]`` of all blocks; beyond the last it is the nearest."""
    depth = len(blocks)
    number = tf.where(layer < 0, tf.maximum(depth + 1 + layer, 1), tf.minimum(layer, depth))
    with_mean = tf.stack([tf.add_n(list(blocks)) / depth, *blocks], axis=1)  # [B, 1 + L, H, …]
    return tf.gather(with_mean, number, batch_dims=1)
