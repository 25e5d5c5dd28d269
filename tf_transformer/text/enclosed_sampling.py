"""Other segmentations of texts, their special tokens in place, before an end and maybe behind a start."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.errors import TextError
from tf_transformer.presets import END_ID, START_ID
from tf_transformer.text.subword_sampling import IntArray

Values = np.ndarray[Any, np.dtype[np.int32]]


class EnclosedSampler:
    """Draws segmentations of texts, anew for each seed; special tokens stay what and where they are.

    Args:
        tokenizer: What is sampled from, a SentencePiece tokenizer.
        text: The text of each part of the texts, normalised, ragged string `[texts, None]`.
        token: The number of the special token before it, see `ids_of_parts`.
        alpha: See `SubwordSampler`.
        has_start: Whether a row begins with the start.

    Attributes:
        digest: Equal digests, equal segmentations for every seed.

    Raises:
        TextError: The tokenizer cannot be sampled from.
        ValueError: `alpha` is out of its range.
    """

    def __init__(
        self,
        tokenizer: Any,
        text: tf.RaggedTensor,
        token: tf.RaggedTensor,
        alpha: float,
        *,
        has_start: bool = True,
    ) -> None:
        if tokenizer.kind != "sentencepiece":
            raise TextError(f"only sentencepiece can be sampled from. Received: {tokenizer.kind}")
        parts = [part.decode("utf-8") for part in text.flat_values.numpy()]
        self._rows = text.value_rowids().numpy()
        self._special = token.flat_values.numpy()
        self._first_special_id = tokenizer.vocabulary_size
        self._num_texts = int(text.nrows())
        self._has_start = has_start
        self._sampler = tokenizer.sampler(parts, alpha)
        self.digest = self._sampler.digest

    def __call__(self, seed: Sequence[int]) -> tuple[Values, IntArray]:
        """Draws one segmentation of each text.

        Args:
            seed: Whole numbers of at least 0.

        Returns:
            The ids of all texts one after the other, int32, and how many each text has, int64 `[texts]`.
        """
        values, sizes = self._sampler(seed)
        special = np.flatnonzero(self._special >= 0)  # parts with a token before their text
        ids = self._special[special] + self._first_special_id
        values = np.insert(values, (np.cumsum(sizes) - sizes)[special], ids.astype(np.int32))
        pieces = sizes + (self._special >= 0)
        totals = np.bincount(self._rows, weights=pieces, minlength=self._num_texts).astype(np.int64)
        ends = np.cumsum(totals)
        values = np.insert(values, ends, END_ID)
        if not self._has_start:
            return values, totals + 1
        # Behind the ends of the texts before.
        return np.insert(values, ends - totals + np.arange(len(totals)), START_ID), totals + 2


def single_parts(texts: Sequence[str]) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Texts without special tokens as their parts, `text` and `token` of `EnclosedSampler`."""
    ones = tf.ones([len(texts)], tf.int64)
    text = tf.RaggedTensor.from_row_lengths(tf.constant(list(texts), tf.string), ones)
    return text, text.with_flat_values(-ones)
