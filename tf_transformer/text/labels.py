"""The labels of a classifier: names to numbers, in a graph or out of it; never one for another."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from tf_transformer.arguments import list_of_strings
from tf_transformer.presets import UNSEEN_LABEL


class Labels(tf.Module):
    """The labels that a classifier can answer.

    Args:
        names: The labels, each once; their places are their numbers.
        counts: How many examples of training have each; 0 for each by default.

    Raises:
        TypeError: `names` is no list of strings.
        ValueError: There are fewer than two, one is empty, or one is there twice; or counts are not one each.

    Example:

    >>> Labels.of(["up", "down", "up"]).number(["up", "sideways"]).numpy().tolist()
    [1, -1]
    """

    def __init__(self, names: Sequence[str], counts: Sequence[int] | None = None) -> None:
        super().__init__()
        self.names = tuple(list_of_strings("names", names))
        if len(set(self.names)) < max(2, len(self.names)) or "" in self.names:
            raise ValueError(
                "`names` must be at least two different labels, none of them empty. "
                f"Received: {', '.join(map(repr, self.names)) or 'none'}"
            )
        self.counts = tuple(counts) if counts is not None else (0,) * len(self.names)
        if len(self.counts) != len(self.names):
            raise ValueError(
                f"`counts` must be one for each of {len(self.names)} labels. Received: {len(self.counts)}"
            )
        keys, numbers = tf.constant(self.names), tf.range(len(self.names), dtype=tf.int64)
        initializer = tf.lookup.KeyValueTensorInitializer(keys, numbers)
        self._table = tf.lookup.StaticHashTable(initializer, UNSEEN_LABEL)

    @classmethod
    def of(cls, labels: Iterable[str]) -> "Labels":
        """The labels of a training corpus, in sorted order."""
        counts = Counter(list_of_strings("labels", labels))
        names = sorted(counts)
        return cls(names, [counts[name] for name in names])

    def __len__(self) -> int:
        return len(self.names)

    def number(self, labels: Any) -> tf.Tensor:
        """The numbers of labels: string `[B]` to int32 `[B]`, `UNSEEN_LABEL` for any other one."""
        return tf.cast(self._table.lookup(tf.convert_to_tensor(labels, tf.string)), tf.int32)
