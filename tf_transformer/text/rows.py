"""What every preprocessor does with rows of ids: ends them, checks them, pads them; and checks its parts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.errors import TextError
from tf_transformer.presets import END_ID
from tf_transformer.text import storage
from tf_transformer.text.normalizer import Normalizer
from tf_transformer.text.special_tokens import MarkingNormalizer
from tf_transformer.text.tokenizers import Tokenizer

_Part = TypeVar("_Part")


def checked_part(name: str, part: _Part, kind: type) -> _Part:
    """A part of a preprocessor; one of another kind is refused."""
    if not isinstance(part, kind):
        raise TypeError(f"`{name}` must be a {kind.__name__}. Received: {part!r}")
    return part


def ended(ids: tf.RaggedTensor, only_empty: bool = False) -> tf.RaggedTensor:
    """Rows with the end after their pieces; with `only_empty`, only those that have no pieces."""
    if only_empty:
        lengths = tf.cast(ids.row_lengths() == 0, tf.int64)
        ends = tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(lengths)], END_ID), lengths)
        return tf.concat([ids, ends], axis=1)
    return tf.concat([ids, tf.fill([ids.nrows(), 1], END_ID)], axis=1)  # [B, None + 1]


def ids_of_parts(tokenizer: Tokenizer, text: tf.RaggedTensor, token: tf.RaggedTensor) -> tf.RaggedTensor:
    """The ids of texts in parts, special tokens having those behind the tokenizer's.

    Args:
        tokenizer: Of the text.
        text: The text of each part, normalised, ragged string `[B, None]`.
        token: The number of the special token before that text, ragged int64 of the same shape; -1: none.

    Returns:
        Ragged int32 `[B, None]`.
    """
    number = token.flat_values
    ids = tf.cast(tf.boolean_mask(number, number >= 0), tf.int32) + tokenizer.vocabulary_size
    single = tf.RaggedTensor.from_row_lengths(ids, tf.cast(number >= 0, tf.int64))
    parts = tf.concat([single, tokenizer.tokenize(text.flat_values)], axis=1)  # [parts, None]
    return text.with_flat_values(parts).merge_dims(1, 2)


def checked_ids(name: str, ids: tf.RaggedTensor, size: int) -> tf.RaggedTensor:
    """Refuses ids outside the vocabulary: an embedding on a GPU would give zeros for them, without a word."""
    if not isinstance(ids, tf.RaggedTensor):
        raise TypeError(f"`{name}` must be ragged, rows without padding. Received: {type(ids).__name__}")
    if not ids.dtype.is_integer:
        raise TypeError(f"`{name}` must be integers. Received: {ids.dtype.name}")
    flat = tf.cast(ids.flat_values, tf.int32)
    rule = f"`{name}` must be at least 0 and below the size of the vocabulary, {size}"
    checks = [
        tf.debugging.assert_less(flat, size, f"{rule}. Received one too large"),
        tf.debugging.assert_non_negative(flat, f"{rule}. Received a negative one"),
    ]
    with tf.control_dependencies([check for check in checks if check is not None]):
        return ids.with_flat_values(tf.identity(flat))


def padded(name: str, ids: tf.RaggedTensor, length: int | tf.Tensor | None) -> tf.Tensor:
    """Rows padded with 0 to a length, or to the longest of them; a longer one is refused.

    Args:
        name: What the ids are called, such as `source_ids`; the argument with the length is `source_length`.
        ids: Ragged `[B, None]`.
        length: The length, or None.
    """
    if length is None:
        return ids.to_tensor()
    if not tf.is_tensor(length):
        length = whole_number(f"{name.removesuffix('_ids')}_length", length, 1)
    longest = tf.cast(ids.bounding_shape(axis=1), tf.int32)
    rule = f"`{name}` must fit into the length to pad to, start or end included"
    limit = tf.cast(length, tf.int32)
    check = tf.debugging.assert_less_equal(longest, limit, f"{rule}. Received a longer row")
    with tf.control_dependencies([check] if check is not None else []):
        dense = ids.to_tensor()  # [B, longest]
        return tf.pad(dense, [[0, 0], [0, limit - tf.shape(dense)[1]]])


def saved_normalizer(manifest: Mapping[str, Any], path: Path) -> Normalizer:
    """The normalizer whose options stand in the manifest of a preprocessor.

    Raises:
        TextError: They are missing, or none of a normalizer.
    """
    options = storage.field(manifest, path, "normalizer", dict)
    kind = MarkingNormalizer if "special_tokens" in options else Normalizer
    try:
        return kind(**options)
    except (TypeError, ValueError) as error:
        rule = "`normalizer` must hold a Normalizer's arguments"
        raise TextError(f"{path}: {rule}. Received: {error}") from error
