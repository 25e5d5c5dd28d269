"""One update: its loss, its gradient and its counts by hand, and what leaves everything as it was."""

import math
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.losses import smoothed_cross_entropy
from tf_transformer.models import Transformer
from tf_transformer.schedules import WarmupInverseSqrt
from tf_transformer.training_step import TrainingModel

VOCABULARY = 5
INFINITE = 7
"""A source id that makes the toy's logits infinite."""
ADAM = {"learning_rate": 0.1, "beta_1": 0.9, "beta_2": 0.98}


class Toy(keras.Model):
    """The same logits everywhere: its only weight, one number a class."""

    COUNTS = Transformer.COUNTS
    source_inputs = Transformer.source_inputs
    counts = Transformer.counts

    def __init__(self) -> None:
        super().__init__()
        self.logits = self.add_weight(name="logits", shape=(VOCABULARY,), initializer="zeros")
        self.built = True

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        overflow = tf.reduce_any(inputs["source_ids"] == INFINITE)
        logits = tf.convert_to_tensor(self.logits) + tf.where(overflow, math.inf, 0.0)
        shape = tf.concat([tf.shape(inputs["target_ids"]), [VOCABULARY]], 0)
        return tf.broadcast_to(logits, shape)

    def training_loss(
        self,
        inputs: dict[str, tf.Tensor],
        labels: tf.Tensor,
        label_smoothing: float,
        training: bool,
        **options: None,
    ) -> tf.Tensor:
        return smoothed_cross_entropy(labels, self(inputs, training=training), label_smoothing)


class Steep(Toy):
    """Its gradients are 99 times as large."""

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        return 99.0 * super().call(inputs)


class NegativeInfinity(Toy):
    """Its loss is infinite where class 4 is the label, and its gradient is not."""

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        column = tf.range(VOCABULARY) == 4
        return tf.where(column, -math.inf, super().call(inputs))


def batch(labels: list[list[int]], source: int = 1) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    ids = tf.constant(labels, tf.int32)
    sources = tf.constant([[source, 1, 0]] * len(labels), tf.int32)
    return {"source_ids": sources, "target_ids": ids}, ids


def training(optimizer: keras.optimizers.Optimizer, model: keras.Model | None = None, **options: Any) -> Any:
    model = TrainingModel(model or Toy(), **options)
    model.compile(optimizer=optimizer)
    optimizer.build(model.model.trainable_variables)
    return model


def scaled(**options: Any) -> keras.optimizers.Optimizer:
    return keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(**ADAM), **options)


def values(model: Any, *, but: str = "") -> list[np.ndarray[Any, Any]]:
    variables = [*model.model.weights, *model.optimizer.variables]
    return [variable.numpy().copy() for variable in variables if variable.name not in but.split()]


def test_loss_and_gradient_are_sums_over_real_tokens_divided_by_their_number() -> None:
    model = training(keras.optimizers.SGD(1.0))
    logs = model.train_step(batch([[4, 0, 0, 0], [4, 4, 4, 3]]))
    assert float(logs["loss"]) == pytest.approx(math.log(5))
    # softmax - target: a fifth everywhere, less 4 of 5 labels at class 4 and 1 of 5 at class 3.
    np.testing.assert_allclose(model.model.logits.numpy(), [-0.2, -0.2, -0.2, 0.0, 0.6], atol=1e-6)


def test_padding_changes_neither_loss_nor_update() -> None:
    short, long = training(keras.optimizers.SGD(1.0)), training(keras.optimizers.SGD(1.0))
    short.train_step(batch([[2, 3, 3]]))
    long.train_step(batch([[2, 3, 3, 0, 0], [0, 0, 0, 0, 0]]))
    np.testing.assert_array_equal(short.model.logits.numpy(), long.model.logits.numpy())


def test_smoothing_puts_nothing_on_padding() -> None:
    model = training(keras.optimizers.SGD(1.0), label_smoothing=0.4)
    model.train_step(batch([[4, 4]]))
    # Four classes share 0.4: each gets 0.1, the label 0.6 more.
    np.testing.assert_allclose(model.model.logits.numpy(), [-0.2, -0.1, -0.1, -0.1, 0.5], atol=1e-6)


@pytest.mark.parametrize("loss_scale", [False, True], ids=["float32", "mixed_float16"])
@pytest.mark.parametrize(
    "bad", [batch([[0, 0, 0], [0, 0, 0]]), batch([[2, 3, 0]], INFINITE)], ids=["padding", "infinite"]
)
def test_an_unusable_batch_changes_nothing_and_is_counted(bad: Any, loss_scale: bool) -> None:
    model = training(scaled(initial_scale=1024.0) if loss_scale else keras.optimizers.Adam(**ADAM))
    step = tf.function(model.train_step)
    step(batch([[2, 3, 0]]))
    before, sums = values(model, but="dynamic_scale step_counter"), model.interval()
    logs = step(bad)
    assert int(logs["taken"]) == 0
    for old, new in zip(before, values(model, but="dynamic_scale step_counter"), strict=True):
        np.testing.assert_array_equal(old, new)
    assert model.interval() == {**sums, "skipped": 1.0}
    assert int(step(batch([[2, 3, 4]]))["taken"]) == 1
    assert int(model.optimizer.iterations) == 2
    assert np.isfinite(model.model.logits.numpy()).all()
    assert math.isfinite(model.interval()["loss_sum"])


def test_only_an_overflow_lowers_the_loss_scale() -> None:
    model = training(scaled(initial_scale=1024.0))
    for data in (batch([[0, 0]]), batch([[2, 3]], INFINITE), batch([[2, 3]])):
        model.train_step(data)
        assert float(model.optimizer.dynamic_scale) == 1024
    model = training(scaled(initial_scale=2.0**127), Steep())  # times 99, more than float32 holds
    assert int(model.train_step(batch([[2, 3]]))["taken"]) == 0
    assert float(model.optimizer.dynamic_scale) == 2.0**126


@pytest.mark.parametrize("loss_scale", [False, True], ids=["float32", "mixed_float16"])
def test_an_infinite_loss_of_finite_gradient_is_skipped_too(loss_scale: bool) -> None:
    optimizer = scaled() if loss_scale else keras.optimizers.Adam(**ADAM)
    model = training(optimizer, NegativeInfinity())
    assert int(model.train_step(batch([[4, 2]]))["taken"]) == 0
    assert model.interval()["loss_sum"] == 0.0
    assert int(model.train_step(batch([[3, 2]]))["taken"]) == 1


def test_sums_of_an_interval_by_hand() -> None:
    model = training(keras.optimizers.SGD(0.0))
    model.train_step(batch([[4, 0, 0, 0], [4, 4, 4, 3]]))  # gradient -0.2 -0.2 -0.2 0 0.6
    model.train_step(batch([[0, 0]]))
    model.train_step(batch([[2]]))  # gradient 0.2 0.2 -0.8 0.2 0.2
    sums = model.interval()
    assert sums.pop("loss_sum") == pytest.approx(6 * math.log(5))
    assert sums.pop("gradient_norm_sum") == pytest.approx(math.sqrt(0.48) + math.sqrt(0.8))
    assert sums == {
        "target_tokens": 6,
        "source_tokens": 6,  # two of three places in each of three rows
        "target_positions": 9,
        "source_positions": 9,
        "updates": 2,
        "skipped": 1,
    }
    model.clear_interval()
    assert set(model.interval().values()) == {0.0}


def test_the_norm_is_that_of_the_unscaled_gradient_also_when_the_scale_grows() -> None:
    model = training(scaled(initial_scale=1024.0, dynamic_growth_steps=1))
    model.train_step(batch([[2]]))
    assert float(model.optimizer.dynamic_scale) == 2048
    assert model.interval()["gradient_norm_sum"] == pytest.approx(math.sqrt(0.8))


def test_a_moving_average_follows_updates_and_nothing_else() -> None:
    model = training(scaled(initial_scale=1024.0), ema=0.9)
    start = model.average.weights[0].numpy()
    step = tf.function(model.train_step)
    for bad in (batch([[0, 0]]), batch([[2, 3]], INFINITE)):
        step(bad)
        np.testing.assert_array_equal(model.average.weights[0].numpy(), start)
    step(batch([[2]]))  # the first update, whose decay is 2 / 11
    raw = model.model.logits.numpy()
    assert np.abs(raw).max() > 0.05
    np.testing.assert_allclose(model.average.weights[0].numpy(), raw * 9 / 11, rtol=1e-6)
    assert model.answering is model.average
    plain = training(keras.optimizers.SGD(1.0))
    assert plain.answering is plain.model


def test_r_drop_without_dropout_is_the_same_update_of_the_same_tokens() -> None:
    from tf_transformer.models import Transformer

    labels = tf.constant([[5, 7, 11, 3], [3, 0, 0, 0], [6, 6, 3, 0]], tf.int32)
    inputs = {"source_ids": labels[:, :3], "target_ids": tf.constant([[2, 5, 7, 11]] * 3, tf.int32)}
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 16, "num_heads": 2, "dropout": 0.0}
    sums, weights = [], []
    for r_drop in (None, 5.0):
        transformer = Transformer(vocabulary_size=13, seed=3, **sizes)
        model = training(keras.optimizers.SGD(0.5), transformer, label_smoothing=0.1, r_drop=r_drop)
        model.train_step((inputs, labels))
        sums.append(model.interval())
        weights.append([weight.numpy() for weight in transformer.weights])
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert sums[0]["target_tokens"] == 8 and sums[0]["target_positions"] == 12
    assert sums[1] == pytest.approx(sums[0], rel=1e-5)


def test_the_rate_counts_updates_not_batches() -> None:
    optimizer = keras.optimizers.SGD(WarmupInverseSqrt(peak=0.3, warmup_steps=3))
    model = training(optimizer)
    for data in (batch([[0, 0]]), batch([[2]], INFINITE), batch([[0]])):
        model.train_step(data)
    model.train_step(batch([[2]]))  # update 1 at a third of the peak
    np.testing.assert_allclose(model.model.logits.numpy(), np.array([-2, -2, 8, -2, -2]) * 0.01, atol=1e-7)
    assert float(optimizer.learning_rate) == pytest.approx(0.2)


def test_two_pieces_of_unequal_size_are_one_batch() -> None:
    # One token and nine: a mean of the two means would give the single token half of the weight.
    data = batch([[4, 0, 0, 0, 0, 0, 0, 0, 0], [2, 3, 3, 1, 2, 2, 3, 3, 2]])
    models = [training(keras.optimizers.SGD(1.0), micro_batch=size) for size in (None, 9, 18)]
    losses = [float(tf.function(model.train_step)(data)["loss"]) for model in models]
    # softmax - target: a fifth everywhere, less the tenth that each label has of the ten.
    by_hand = -np.array([2, 2 - 1, 2 - 4, 2 - 4, 2 - 1]) / 10
    for model, loss in zip(models, losses, strict=True):
        assert loss == pytest.approx(math.log(5), rel=1e-6)
        np.testing.assert_allclose(model.model.logits.numpy(), by_hand, atol=1e-6)
        sums = model.interval()
        assert (sums["target_tokens"], sums["target_positions"], sums["updates"]) == (10, 18, 1)


def test_the_rate_counts_updates_not_pieces() -> None:
    optimizer = keras.optimizers.SGD(WarmupInverseSqrt(peak=0.3, warmup_steps=3))
    model = training(optimizer, micro_batch=1)
    step = tf.function(model.train_step)
    for _ in range(2):
        step(batch([[2], [2], [2], [2]]))  # four pieces
    assert int(optimizer.iterations) == 2
    assert float(optimizer.learning_rate) == pytest.approx(0.3)  # of the third update, no later one


@pytest.mark.parametrize(
    ("size", "pieces"),
    [(1, 11), (5, 11), (6, 6), (12, 3), (32, 2), (33, 1), (99, 1)],
)
def test_a_piece_has_no_more_padded_positions_and_one_example_at_least(size: int, pieces: int) -> None:
    seen: list[int] = []

    class Counting(Toy):
        def training_loss(self, inputs: Any, labels: Any, *args: Any, **options: Any) -> tf.Tensor:
            tf.numpy_function(lambda ids: seen.append(len(ids)), [labels], [])
            return super().training_loss(inputs, labels, *args, **options)

    model = training(keras.optimizers.SGD(1.0), Counting(), micro_batch=size)
    tf.function(model.train_step)(batch([[2, 3]] * 11))  # sources are three long, the longer side
    assert len(seen) == pieces and sum(seen) == 11 and min(seen) > 0
    assert max(seen) * 3 <= max(size, 3) and max(seen) - min(seen) <= 1


@pytest.mark.parametrize("loss_scale", [False, True], ids=["float32", "mixed_float16"])
@pytest.mark.parametrize("tied", ["all", "none"])
def test_pieces_of_a_transformer_are_one_batch(tied: str, loss_scale: bool) -> None:
    from tf_transformer.models import Transformer

    labels = tf.constant([[5, 7, 11, 3], [3, 0, 0, 0], [6, 6, 3, 0], [5, 5, 5, 3], [7, 3, 0, 0]], tf.int32)
    inputs = {"source_ids": labels[:, ::-1], "target_ids": tf.constant([[2, 5, 7, 11]] * 5, tf.int32)}
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 16, "num_heads": 2, "dropout": 0.0}
    found = []
    for micro in (None, 8):
        model = Transformer(vocabulary_size=13, seed=3, tie_embeddings=tied, **sizes)
        # Clipped: a norm of rows that occur several times is that of their sum.
        optimizer: Any = keras.optimizers.SGD(1.0, global_clipnorm=1.0)
        if loss_scale:
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=1024.0)
        trained = training(optimizer, model, label_smoothing=0.1, micro_batch=micro)
        before = [weight.numpy() for weight in model.trainable_variables]
        tf.function(trained.train_step)((inputs, labels))
        after = [weight.numpy() for weight in model.trainable_variables]
        found.append([one - other for one, other in zip(before, after, strict=True)])
        assert int(trained.optimizer.iterations) == 1
    norm = math.sqrt(sum(float((one**2).sum()) for one in found[0]))
    assert norm == pytest.approx(1.0, rel=1e-4)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("loss_scale", [False, True], ids=["float32", "mixed_float16"])
def test_one_bad_piece_is_a_bad_update(loss_scale: bool) -> None:
    optimizer = scaled(initial_scale=1024.0) if loss_scale else keras.optimizers.Adam(**ADAM)
    model = training(optimizer, NegativeInfinity(), micro_batch=3)
    assert int(tf.function(model.train_step)(batch([[2, 3], [4, 2], [2, 2]]))["taken"]) == 0
    assert model.interval()["skipped"] == 1.0 and not model.model.logits.numpy().any()


def test_half_precision_finds_its_scale_and_learns() -> None:
    from tf_transformer.models import Transformer

    keras.utils.set_random_seed(3)
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 16, "num_heads": 2, "dropout": 0.0}
    transformer = Transformer(vocabulary_size=13, dtype="mixed_float16", **sizes)
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.02), initial_scale=2.0**24)
    model = training(optimizer, transformer)
    labels = tf.constant([[5, 7, 11, 3], [3, 0, 0, 0], [6, 6, 3, 0], [12, 3, 0, 0]], tf.int32)
    inputs = {"source_ids": labels, "target_ids": tf.constant([[2, 5, 7, 11]] * 4, tf.int32)}
    step = tf.function(model.train_step)
    losses = [float(step((inputs, labels))["loss"]) for _ in range(20)]
    sums = model.interval()
    assert np.isfinite(losses).all()
    assert sums["skipped"] >= 1
    assert sums["updates"] == 20 - sums["skipped"] == int(optimizer.iterations)
    assert float(optimizer.dynamic_scale) == 2.0 ** (24 - sums["skipped"])
    assert losses[-1] < 0.7 * losses[0]
    assert all(np.isfinite(weight.numpy()).all() for weight in transformer.weights)
