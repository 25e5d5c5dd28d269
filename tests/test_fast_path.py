"""The fast training step against the plain one: the same mathematics, whatever way it is computed."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer import optimizers
from tf_transformer.layers import layer_normalization
from tf_transformer.models import Transformer
from tf_transformer.schedules import WarmupInverseSqrt
from tf_transformer.training_step import TrainingModel

UPDATES = 200
SETTINGS: dict[str, Any] = {"beta_2": 0.98, "epsilon": 1e-9, "global_clipnorm": 1.0}
SIGNATURE = [
    {name: tf.TensorSpec([None, None], tf.int32) for name in ("source_ids", "target_ids")},
    tf.TensorSpec([None, None], tf.int32),
]


def model(norm: str) -> Transformer:
    sizes: dict[str, Any] = {"num_layers": 2, "hidden_dim": 12, "intermediate_dim": 23, "num_heads": 3}
    return Transformer(vocabulary_size=29, **sizes, dropout=0.0, norm=norm, seed=5)


def batches() -> list[tuple[dict[str, tf.Tensor], tf.Tensor]]:
    """Reversals of random lengths, so that there is something to learn and something to pad."""
    rng = np.random.default_rng(17)
    made = []
    for _ in range(UPDATES):
        source, target, labels = (np.zeros((11, length), "int32") for length in (7, 8, 8))
        for row in range(11):
            length = int(rng.integers(1, 8))
            source[row, :length] = rng.integers(4, 29, length)
            labels[row, : length + 1] = [*source[row, :length][::-1], 3]
            target[row, : length + 1] = [2, *labels[row, :length]]
        inputs = {"source_ids": tf.constant(source), "target_ids": tf.constant(target)}
        made.append((inputs, tf.constant(labels)))
    return made


def losses_of(step: Any) -> np.ndarray:
    function = tf.function(step, input_signature=SIGNATURE, autograph=False)
    return np.array([function(*batch).numpy() for batch in batches()])


def fast(norm: str, loss_chunk: int | None) -> np.ndarray:
    training = TrainingModel(model(norm), label_smoothing=0.1, loss_chunk=loss_chunk)
    optimizer = optimizers.Adam(WarmupInverseSqrt(peak=0.004, warmup_steps=50), **SETTINGS)
    training.compile(optimizer=optimizer)
    optimizer.build(training.model.trainable_variables)
    return losses_of(lambda inputs, labels: training.train_step((inputs, labels))["loss"])


def plain(norm: str) -> np.ndarray:
    """Logits, the one-hot formula, derived gradients, Keras' optimizer."""
    network = model(norm)
    optimizer = keras.optimizers.Adam(WarmupInverseSqrt(peak=0.004, warmup_steps=50), **SETTINGS)
    optimizer.build(network.trainable_variables)
    is_class = np.arange(29) != 0

    def step(inputs: dict[str, tf.Tensor], labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            logits = network(inputs, training=True)
            target = 0.9 * tf.one_hot(labels, 29) + 0.1 * is_class / 28
            real = tf.cast(labels != 0, tf.float32)
            values = -tf.reduce_sum(target * tf.nn.log_softmax(logits), -1) * real
            loss = tf.reduce_sum(values) / tf.reduce_sum(real)
        optimizer.apply(tape.gradient(loss, network.trainable_variables), network.trainable_variables)
        return loss

    return losses_of(step)


def derived_norm(inputs: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: float) -> tf.Tensor:
    mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
    return (inputs - mean) * tf.math.rsqrt(variance + epsilon) * gamma + beta


@pytest.mark.parametrize(("norm", "loss_chunk"), [("pre", None), ("post", 16)])
def test_two_hundred_updates_agree(
    norm: str, loss_chunk: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = fast(norm, loss_chunk)
    monkeypatch.setattr(layer_normalization, "layer_norm", derived_norm)
    slow = plain(norm)
    assert slow[:10].mean() > 3.0 and slow[-10:].mean() < 0.8 * slow[:10].mean()
    np.testing.assert_allclose(quick, slow, atol=1e-3)
