"""Which examples go together where all of them are answered, and answering several batches at once."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from tf_transformer.processes import cores

MOST_AT_ONCE = 4
"""Batches that are in memory together, at most."""
Batch = TypeVar("Batch")
Answer = TypeVar("Answer")


def batches_by_length(lengths: np.ndarray[Any, Any], positions: int) -> list[np.ndarray[Any, Any]]:
    """Row numbers in batches of similar length, at most ``positions`` padded positions each.

    Args:
        lengths: ``[N]`` integers.
        positions: Upper bound of rows times longest row; a longer single row is a batch by itself.
    """
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, positions // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches


def at_once(answer: Callable[[Batch], Answer], batches: Sequence[Batch]) -> list[Answer]:
    """What a function gives for each batch, in order; on a CPU several batches are in work at a time.

    A step of a search is many small operations, few of which are worth more than one core: two batches on two
    cores are done sooner than one after the other on both.

    Args:
        answer: Runs a graph. The first batch is done by itself, so that graphs are traced in this thread.
        batches: The batches.
    """
    number = min(MOST_AT_ONCE, cores(), len(batches) - 1)
    if number < 2 or tf.config.list_physical_devices("GPU") or tf.distribute.has_strategy():
        return [answer(batch) for batch in batches]
    first = answer(batches[0])
    with ThreadPoolExecutor(number) as threads:
        return [first, *threads.map(answer, batches[1:])]


def share_cores() -> None:
    """Gives each of the batches at once its part of the cores, so that they do not wait for one another.

    This is a setting of the whole process, and none any more once TensorFlow has begun to compute.
    `TF_NUM_INTRAOP_THREADS` in the environment goes before it.
    """
    if "TF_NUM_INTRAOP_THREADS" not in os.environ:
        with suppress(RuntimeError):
            there = cores()
            tf.config.threading.set_intra_op_parallelism_threads(there // min(MOST_AT_ONCE, there))
