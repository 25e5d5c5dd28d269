"""Other segmentations of texts, their special tokens in place, between a start and an end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.presets import END_ID, START_ID
from tf_transformer.text.normalizer import Normalizer
from tf_transformer.text.special_tokens import MarkingNormalizer
from tf_transformer.text.subword_sampling import IntArray

Values = np.ndarray[Any, np.dtype[np.int32]]


class EnclosedSampler:
    """Draws segmentations of texts, anew for each seed; special tokens stay what and where they are.

    Args:
        tokenizer: What is sampled from, a SentencePiece tokenizer.
        normalizer: What has normalised the texts.
        texts: Normalised texts.
        alpha: See `SubwordSampler`.

    Attributes:
        digest: Equal digests, equal segmentations for every seed.

    Raises:
        TextError: The tokenizer cannot be sampled from.
        ValueError: `alpha` is out of its range.
    """

    def __init__(self, tokenizer: Any, normalizer: Normalizer, texts: Sequence[str], alpha: float) -> None:
        parts, self._rows = list(texts), np.arange(len(texts))
        self._special = np.full(len(texts), -1, np.int64)
        if isinstance(normalizer, MarkingNormalizer):
            text, token = normalizer.split(tf.constant(parts, tf.string))
            parts = [part.decode("utf-8") for part in text.flat_values.numpy()]
            self._rows = text.value_rowids().numpy()
            self._special = token.flat_values.numpy()
        self._first_special_id = tokenizer.vocabulary_size
        self._num_texts = len(texts)
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
        special = np.flatnonzero(self._special >= 0)  # parts that are one token and no text
        ids = self._special[special] + self._first_special_id
        values = np.insert(values, np.cumsum(sizes)[special], ids.astype(np.int32))
        pieces = sizes + (self._special >= 0)
        totals = np.bincount(self._rows, weights=pieces, minlength=self._num_texts).astype(np.int64)
        ends = np.cumsum(totals)
        values = np.insert(values, ends, END_ID)
        # Behind the ends of the texts before.
        return np.insert(values, ends - totals + np.arange(len(totals)), START_ID), totals + 2
