"""A trace of the updates that a recipe names, and of no others."""

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tf_transformer.callbacks.profiling import Profiling
from tf_transformer.callbacks.state import TrainingState


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the profiler was asked for."""
    asked: list[Any] = []
    monkeypatch.setattr(tf.profiler.experimental, "start", asked.append)
    monkeypatch.setattr(tf.profiler.experimental, "stop", lambda: asked.append(state.step))
    return asked


state = TrainingState()


def run(first: int, last: int, begin: int, end: int) -> None:
    state.step = begin
    callback = Profiling(state, Path("trace"), first, last)
    while state.step < end:
        callback.on_train_batch_begin(0)
        state.step += 1
        callback.on_train_batch_end(0)
    callback.on_train_end()


@pytest.mark.parametrize(
    ("first", "last", "begin", "end", "expected"),
    [
        (3, 5, 0, 9, ["trace", 5]),
        (3, 3, 0, 9, ["trace", 3]),
        (3, 5, 3, 9, ["trace", 5]),  # continued in the middle
        (3, 5, 5, 9, []),  # continued behind
        (3, 50, 0, 9, ["trace", 9]),  # ends before
    ],
)
def test_it_runs_from_the_first_to_the_last(
    calls: list[Any], first: int, last: int, begin: int, end: int, expected: list[Any]
) -> None:
    run(first, last, begin, end)
    assert calls == expected


def test_the_profiler_writes_where_tensorboard_looks(tmp_path: Path) -> None:
    callback = Profiling(TrainingState(), tmp_path, 1, 1)
    callback.on_train_batch_begin(0)
    tf.linalg.matmul(tf.ones([9, 9]), tf.ones([9, 9]))
    callback.on_train_end()
    assert list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))
