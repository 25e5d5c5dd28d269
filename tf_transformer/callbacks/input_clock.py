"""How long updates wait for their batches, told apart from what they take themselves."""

import time
from typing import Any

import tensorflow as tf


class InputClock:
    """Notes when each batch leaves the pipeline, which the training step asks for from inside its graph."""

    def __init__(self) -> None:
        with tf.device("CPU:0"):
            self._left = tf.Variable(0.0, dtype=tf.float64, trainable=False, name="batch_left")
        self._asked = 0.0

    def watch(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        """The same batches, each noted as it leaves.

        Args:
            dataset: Whose last stage makes batches ready ahead.
        """

        def note(*batch: Any) -> Any:
            with tf.control_dependencies(tf.nest.flatten(batch)), tf.control_dependencies([self._note()]):
                return tf.nest.map_structure(tf.identity, batch)

        # A stage ahead of time behind this one would note batches that nobody has asked for yet.
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        return dataset.map(note).with_options(options)

    def _note(self) -> tf.Tensor:
        return self._left.assign(tf.timestamp(), read_value=False)

    def ask(self) -> None:
        """Begins an update, which will ask for a batch."""
        self._asked = time.time()

    def waited(self) -> float:
        """Seconds from ``ask`` until the batch was there; 0 where it had been taken before."""
        return max(0.0, float(self._left.numpy()) - self._asked)
