"""The moving average of weights: by hand, by TensorFlow's own, and what it leaves alone."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.moving_average import MovingAverage


class Two(keras.Model):
    """A weight that is trained and one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.trained = self.add_weight(name="trained", shape=(2,), initializer="zeros")
        self.fixed = self.add_weight(name="fixed", shape=(), initializer="ones", trainable=False)
        self.built = True


def follow(decay: float, values: list[list[float]]) -> np.ndarray[Any, Any]:
    """The average after updates that made the trained weight each of `values` in turn."""
    model = Two()
    average = MovingAverage(model, decay)
    for step, value in enumerate(values, start=1):
        model.trained.assign(value)
        average.update(tf.constant(step, tf.int64), tf.constant(1, tf.int64))
    return average.by_path()[model.trained.path]


def test_by_hand() -> None:
    # The decays are 2 / 11, then 3 / 12, which is already more than 0.2: 0.2 * 9 / 11 * 11 + 0.8 * 20.
    np.testing.assert_allclose(follow(0.2, [[11.0, -11.0]]), [9.0, -9.0], rtol=1e-6)
    np.testing.assert_allclose(follow(0.2, [[11.0, -11.0], [20.0, 0.0]]), [17.8, -1.8], rtol=1e-6)


def test_equals_tensorflows_own() -> None:
    values = np.random.default_rng(3).normal(size=(97, 2)).astype("float32")
    variable, step = tf.Variable(np.zeros(2, "float32")), tf.Variable(0.0)
    theirs = tf.train.ExponentialMovingAverage(0.9, num_updates=step)
    theirs.apply([variable])
    for value in values:
        step.assign_add(1.0)
        variable.assign(value)
        theirs.apply([variable])
    np.testing.assert_allclose(follow(0.9, values.tolist()), theirs.average(variable).numpy(), atol=1e-6)


def test_no_update_moves_nothing() -> None:
    model = Two()
    average = MovingAverage(model, 0.9)
    model.trained.assign([5.0, 7.0])
    average.update(tf.constant(1, tf.int64), tf.constant(0, tf.int64))
    np.testing.assert_array_equal(average.weights[0].numpy(), [0.0, 0.0])


def test_what_is_not_trained_is_the_models_own() -> None:
    model = Two()
    average = MovingAverage(model, 0.9)
    assert [weight.path for weight in model.weights] == list(average.by_path())
    assert average.weights[1] is model.fixed
    average.restore({model.trained.path: [3.0, 4.0], model.fixed.path: 2.0})
    np.testing.assert_array_equal(average.by_path()[model.trained.path], [3.0, 4.0])
    np.testing.assert_array_equal(model.trained.numpy(), [0.0, 0.0])


@pytest.mark.parametrize("decay", [1.0, -0.1])
def test_a_decay_out_of_range_is_refused(decay: float) -> None:
    with pytest.raises(ValueError, match=rf"`decay` must be at least 0 and less than 1. Received: {decay}"):
        MovingAverage(Two(), decay)
