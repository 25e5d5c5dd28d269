"""Random numbers that are a function of seed, epoch and batch: what was drawn can be drawn again."""

import zlib
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

Augment = Callable[[Any, tf.Tensor, tf.Tensor], Any]
"""What `assemble` has made, and the numbers of epoch and batch, int64 scalars, to what the model gets."""


class BatchSeeds(keras.random.SeedGenerator):
    """Seeds for the draws of one batch, for layers that take a `SeedGenerator`; it has no state to save.

    Args:
        seed: Of the run.
        purpose: What is drawn: other purposes get other seeds.
        epoch: Number of the epoch, an integer scalar tensor.
        batch: Number of the batch in it, likewise.
    """

    def __init__(self, seed: int, purpose: str, epoch: tf.Tensor, batch: tf.Tensor) -> None:
        # Not the constructor of the class above, which makes a variable: these seeds live inside one graph.
        start = tf.constant([seed, zlib.crc32(purpose.encode()) % 2**31], tf.int32)
        self._start = _folded(_folded(start, epoch), batch)
        self._draws = 0

    def next(self, ordered: bool = True) -> tf.Tensor:
        """The seed of the next draw, int32 `[2]`."""
        self._draws += 1
        return _folded(self._start, tf.constant(self._draws))


def _folded(seed: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """Another seed for each number."""
    return tf.random.experimental.stateless_fold_in(seed, tf.cast(number, tf.int32), alg="philox")


def image_augment(layer: Any, seed: int) -> Augment:
    """What changes the pictures of a batch while training.

    Args:
        layer: An `Augmentation`, or another layer with the call argument `seeds`.
        seed: Of the run.
    """

    def augment(batch: Any, epoch: tf.Tensor, number: tf.Tensor) -> Any:
        inputs, labels = batch
        seeds = BatchSeeds(seed, "augmentation", epoch, number)
        return {**inputs, "images": layer(inputs["images"], training=True, seeds=seeds)}, labels

    return augment
