"""Waiting for batches is told apart from working on them."""

import time

import tensorflow as tf

from tf_transformer.callbacks.input_clock import InputClock


def slow(number: tf.Tensor) -> tf.Tensor:
    def wait(value: tf.Tensor) -> tf.Tensor:
        time.sleep(0.05 if value == 1 else 0.0)
        return value

    return tf.ensure_shape(tf.py_function(wait, [number], tf.int64), [])


def test_batches_are_the_same_and_what_they_are_waited_for_is_noted() -> None:
    clock = InputClock()
    dataset = tf.data.Dataset.range(3).map(slow).map(lambda number: ({"ids": number}, 2 * number))
    batches, waits = iter(clock.watch(dataset)), []
    for number in range(3):
        clock.ask()
        inputs, labels = next(batches)
        time.sleep(0.02)  # the work on a batch is no wait for it
        assert int(inputs["ids"]) == number and int(labels) == 2 * number
        waits.append(clock.waited())
    assert waits[1] >= 0.05 and waits[0] < 10
    clock.ask()
    assert clock.waited() == 0.0  # the last batch had left before
