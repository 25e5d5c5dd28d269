"""Adapters: their gradient is the weight's, projected; the merged weight answers as the pair does."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_transformer.adapters import Adapters
from tf_transformer.models import Transformer
from tf_transformer.optimizers import Adam
from tf_transformer.training_step import TrainingModel

LABELS = tf.constant([[5, 7, 11, 3], [3, 0, 0, 0], [6, 6, 3, 0]], tf.int32)
INPUTS = {"source_ids": LABELS[:, :3], "target_ids": tf.constant([[2, 5, 7, 11]] * 3, tf.int32)}
SIZES = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 12, "num_heads": 2, "dropout": 0.0}


def made(rank: int = 3, alpha: float = 6.0, **options: Any) -> tuple[Transformer, Adapters]:
    """A model of which kernels of two forms and the table are adapted, and nothing else trained."""
    model = Transformer(vocabulary_size=13, seed=3, **SIZES)
    ends = ("self_attention/attention/query_kernel", "inner_kernel", "table")
    chosen = [weight for weight in model.weights if weight.path.endswith(ends)]
    for weight in model.weights:
        weight.trainable = any(weight is one for one in chosen)
    return model, Adapters(chosen, rank, alpha, seed=1)


def moved(adapters: Adapters) -> None:
    """Gives A and B other values than they begin with."""
    draw = np.random.default_rng(5)
    for variable in adapters.trainable_variables:
        variable.assign(draw.normal(size=variable.shape) * 0.1)
    adapters.merge()


def test_a_weight_begins_as_it_was_and_is_then_the_sum_by_hand() -> None:
    weight = keras.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="kernel")
    adapters = Adapters([weight], rank=1, alpha=0.5, seed=1)
    adapters.merge()
    np.testing.assert_array_equal(weight.numpy(), [[1, 2, 3], [4, 5, 6]])
    first, second = adapters.trainable_variables
    first.assign([[2.0], [-4.0]])
    second.assign([[1.0, 0.0, 3.0]])
    adapters.merge()
    # 0.5 / 1 times [[2, 0, 6], [-4, 0, -12]] on top.
    np.testing.assert_array_equal(weight.numpy(), [[2, 2, 6], [2, 5, 0]])


def test_the_gradient_is_that_of_the_pair_itself() -> None:
    """Against TensorFlow's own gradient through start + scale * A B, with A and B in the graph."""
    model, adapters = made()
    moved(adapters)
    weights = [weight for weight in model.weights if weight.trainable]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model.training_loss(INPUTS, LABELS))
    found = adapters.projected(
        list(zip(tape.gradient(loss, [one.value for one in weights]), weights, strict=True))
    )
    for _, variable in found:
        numbers, gradient = variable.numpy(), next(one for one, other in found if other is variable).numpy()
        place = np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape)
        values = []
        for step in (1e-2, -1e-2):
            changed = numbers.copy()
            changed[place] += step
            variable.assign(changed)
            adapters.merge()
            values.append(float(tf.reduce_sum(model.training_loss(INPUTS, LABELS))))
        variable.assign(numbers)
        adapters.merge()
        np.testing.assert_allclose(gradient[place], (values[0] - values[1]) / 2e-2, rtol=2e-2)


def test_merged_answers_as_unmerged() -> None:
    """The product with W is that with W0 and, through the narrow middle, with A and B."""
    _, adapters = made()
    moved(adapters)
    for weight, first, second, start in adapters._parts:
        inputs = np.random.default_rng(2).normal(size=(5, start.shape[0])).astype("float32")
        apart = inputs @ start.numpy() + adapters.scale * (inputs @ first.numpy()) @ second.numpy()
        np.testing.assert_allclose(inputs @ weight.numpy(), apart, atol=1e-5)


def test_an_update_moves_adapters_and_leaves_all_else_bit_for_bit() -> None:
    model, adapters = made()
    before = {weight.path: weight.numpy() for weight in model.weights}
    training = TrainingModel(model, adapters=adapters, ema=0.5, micro_batch=4)
    training.compile(optimizer=Adam(learning_rate=0.1))
    assert len(training.trained) == 2 * 5
    step = tf.function(training.train_step, autograph=False)
    for _ in range(2):
        logs = step((INPUTS, LABELS))
    assert {"gradient_norm/embedding", "gradient_norm/encoder"} <= set(logs)
    for weight in model.weights:
        same = np.array_equal(weight.numpy(), before[weight.path])
        assert same != weight.trainable, weight.path
    ranks = [
        np.linalg.matrix_rank(weight.numpy() - start.numpy(), 1e-5) for weight, *_, start in adapters._parts
    ]
    assert ranks == [3] * 5


def test_a_skipped_update_changes_nothing() -> None:
    model, adapters = made()
    moved(adapters)
    training = TrainingModel(model, adapters=adapters)
    training.compile(optimizer=Adam(learning_rate=0.1))
    before = [weight.numpy() for weight in model.weights]
    training.train_step((INPUTS, tf.zeros_like(LABELS)))  # no real token
    assert all(np.array_equal(old, new.numpy()) for old, new in zip(before, model.weights, strict=True))
