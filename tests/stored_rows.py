"""Rows of ids that are easy to tell apart, for tests of what stores them."""

import numpy as np
import tensorflow as tf

from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.report import CorpusReport

TYPES = {"source": np.dtype("<u2"), "target": np.dtype("<u4")}


def rows(count: int, first: int) -> EncodedCorpus:
    """Row r has r % 3 + 1 source ids and one target id, all of them r."""
    numbers = np.arange(first, first + count)
    source = tf.ragged.constant([[row] * (row % 3 + 1) for row in numbers.tolist()], dtype=tf.int32)
    target = tf.RaggedTensor.from_row_lengths(tf.cast(numbers, tf.int32), [1] * count)
    lengths = {"source": numbers % 3 + 1, "target": np.full(count, 2)}
    zeros, reports = np.zeros(count, np.int64), (CorpusReport("a", count),)
    return EncodedCorpus({"source": source, "target": target}, lengths, zeros, numbers + 1, reports)
