"""Options about pieces that searches and sampling have in common, checked."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tf_transformer.arguments import finite_number, list_of_strings, whole_number
from tf_transformer.presets import GREATEST_SEED, LONGEST_ANSWER, SPECIAL_TOKENS, UNKNOWN_ID

UNKNOWN_NAME = SPECIAL_TOKENS[UNKNOWN_ID]
"""What `banned` calls the unknown piece."""
_TEXTS_OF_A_SEED = 2**32


def plain_rules(options: Any) -> dict[str, Any]:
    """The fields of options that are about pieces, as plain numbers: equal options are one traced graph.

    Raises:
        TypeError: When a value is of a wrong type.
        ValueError: When a value is out of its range.
    """
    plain: dict[str, Any] = {
        "temperature": finite_number("temperature", options.temperature, 0.0),
        "top_k": whole_number("top_k", options.top_k, 0, GREATEST_SEED),
        "top_p": finite_number("top_p", options.top_p, 0.0),
        "repetition_penalty": finite_number("repetition_penalty", options.repetition_penalty, 0.0),
        "no_repeat": whole_number("no_repeat", options.no_repeat, 0, LONGEST_ANSWER),
        "banned": tuple(list_of_strings("banned", options.banned)),
        "seed": whole_number("seed", options.seed, 0, GREATEST_SEED),
    }
    if not 0.0 < plain["top_p"] <= 1.0:
        raise ValueError(f"`top_p` must be more than 0 and at most 1. Received: {options.top_p!r}")
    if plain["repetition_penalty"] == 0.0:
        raise ValueError("`repetition_penalty` must be more than 0. Received: 0.0")
    return plain


def banned_ids(banned: Sequence[str], encode: Callable[[tf.Tensor], tf.RaggedTensor]) -> tuple[int, ...]:
    """The ids of banned pieces, in order.

    Args:
        banned: Pieces as text; `UNKNOWN_NAME` is the unknown one.
        encode: Strings `[B]` to ragged ids.

    Raises:
        ValueError: When one is no single piece of the vocabulary.
    """
    ids = set()
    for text in banned:
        if text == UNKNOWN_NAME:
            ids.add(UNKNOWN_ID)
            continue
        with tf.init_scope():  # now, also while a graph is being written
            pieces = encode(tf.constant([text])).numpy()[0].tolist()
        if len(pieces) != 1 or pieces[0] == UNKNOWN_ID:
            raise ValueError(
                f"`banned` must hold single pieces of the vocabulary. Received: {text!r}, which is "
                + (f"{len(pieces)} pieces" if len(pieces) != 1 else "unknown")
            )
        ids.add(int(pieces[0]))
    return tuple(sorted(ids))


def seeds_of(texts: tf.Tensor, seed: int | tf.Tensor) -> tf.Tensor:
    """Seeds int64 `[B]`: functions of the texts `[B]`, not of their places among others."""
    number = tf.strings.to_hash_bucket_fast(texts, 2**31)
    return tf.cast(seed, tf.int64) * _TEXTS_OF_A_SEED + number
