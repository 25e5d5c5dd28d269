"""Loss, perplexity and accuracy of a model that is given its targets."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_transformer.losses import smoothed_cross_entropy
from tf_transformer.presets import PAD_ID
from tf_transformer.replicas import OnDevices

Batch = tuple[dict[str, tf.Tensor], tf.Tensor]


@dataclass(frozen=True)
class Totals:
    """Sums over tokens.

    Args:
        tokens: How many there are.
        smoothed: Their cross-entropy with label smoothing, in nats.
        nats: Their cross-entropy without.
        hits: How many the model finds the likeliest.
    """

    tokens: int
    smoothed: float
    nats: float
    hits: int

    def figures(self) -> dict[str, float]:
        """``loss``, ``perplexity`` and ``accuracy``."""
        return {
            "loss": self.smoothed / self.tokens,
            "perplexity": perplexity(self.nats / self.tokens),
            "accuracy": self.hits / self.tokens,
        }


def perplexity(nats: float) -> float:
    """The perplexity of so many nats a token."""
    # Beyond e^700 a float overflows; such a perplexity says no more than "infinite".
    return math.exp(min(nats, 700.0))


class TeacherForced:
    """Loss, perplexity and accuracy of a model on given targets.

    Args:
        model: Maps inputs to logits ``[B, T, V]``.
        label_smoothing: That of training, so that ``loss`` is comparable to the training loss;
            ``perplexity`` is the exponential of the unsmoothed cross-entropy.
        ignore_id: A label that does not count.
        compiled: Whether to make a graph, which takes its time and then is faster.
    """

    def __init__(
        self, model: Any, label_smoothing: float, ignore_id: int = PAD_ID, *, compiled: bool = True
    ) -> None:
        self.model = model
        self.label_smoothing = label_smoothing
        self.ignore_id = ignore_id
        self._sums = OnDevices(self._batch_sums, model, compiled=compiled)

    def __call__(self, batches: Iterable[Batch]) -> dict[str, float]:
        """Figures over all real tokens of ``batches``: ``loss``, ``perplexity`` and ``accuracy``."""
        return self.totals(batches).figures()

    def of_training(self, batches: Iterable[Batch]) -> dict[str, float]:
        """``perplexity`` and ``accuracy`` alone: the loss of training is that of its updates."""
        return {name: value for name, value in self(batches).items() if name != "loss"}

    def totals(self, batches: Iterable[Batch]) -> Totals:
        """The sums over all real tokens of ``batches``.

        Raises:
            ValueError: When there are none.
        """
        totals = [0.0, 0.0, 0.0, 0.0]
        for sums in self._sums.map(batches):
            totals = [total + float(value) for total, value in zip(totals, sums.numpy(), strict=True)]
        tokens, smoothed, plain, hits = totals
        if tokens == 0:
            raise ValueError("The batches to evaluate must hold at least one real token. Received: none")
        return Totals(int(tokens), smoothed, plain, int(hits))

    def _batch_sums(self, inputs: dict[str, tf.Tensor], labels: tf.Tensor) -> tf.Tensor:
        logits = self.model(inputs, training=False)
        counted, ignored = labels != self.ignore_id, self.ignore_id
        plain = tf.reduce_sum(smoothed_cross_entropy(labels, logits, 0.0, ignored))
        smoothed = tf.reduce_sum(smoothed_cross_entropy(labels, logits, self.label_smoothing, ignored))
        hits = tf.equal(tf.argmax(logits, axis=-1, output_type=labels.dtype), labels) & counted
        counts = [tf.math.count_nonzero(counted), tf.math.count_nonzero(hits)]
        tokens, correct = (tf.cast(count, tf.float64) for count in counts)
        return tf.stack([tokens, tf.cast(smoothed, tf.float64), tf.cast(plain, tf.float64), correct])
