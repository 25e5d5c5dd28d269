"""Waiting for batches is told apart from working on them."""

import time
from collections.abc import Iterator

import tensorflow as tf

from tf_transformer.callbacks.input_clock import InputClock


def slow() -> Iterator[tuple[dict[str, int], int]]:
    for number in range(3):
        time.sleep(0.05 if number == 1 else 0.0)
        yield {"ids": number}, 2 * number


def test_batches_are_the_same_and_what_they_are_waited_for_is_noted() -> None:
    clock, one = InputClock(), tf.TensorSpec([], tf.int64)
    dataset = tf.data.Dataset.from_generator(slow, output_signature=({"ids": one}, one))
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
