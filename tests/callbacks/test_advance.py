"""Counting updates and batches, ending at limits, and stopping when asked to."""

import os
import signal
import threading
from typing import Any

import pytest

from tf_transformer.callbacks import advance
from tf_transformer.callbacks.advance import Advance, Interruption, Limits
from tf_transformer.callbacks.state import TrainingState


def counting(training: Any, limits: Limits, **state: Any) -> Advance:
    """Epochs of 3, 2, 2 … batches."""
    callback = Advance(TrainingState(**state), lambda epoch: 2 + (epoch == 0), limits, Interruption())
    callback.set_model(training)
    callback.on_train_begin()
    return callback


def update(callback: Advance, taken: bool = True) -> TrainingState:
    callback.on_train_batch_begin(0)
    callback.model.optimizer.iterations.assign_add(int(taken))
    callback.on_train_batch_end(0)
    return callback.state


def test_a_skipped_update_moves_the_data_and_not_the_step(training: Any) -> None:
    callback = counting(training, Limits(steps=10))
    places = []
    for taken in (True, False, True, True, False, True):
        state = update(callback, taken)
        places.append((state.step, state.epoch, state.batch, state.skipped))
    # Epoch 0 has three batches, the others two.
    assert places == [(1, 0, 1, 0), (1, 0, 2, 1), (2, 1, 0, 1), (3, 1, 1, 1), (3, 2, 0, 2), (4, 2, 1, 2)]


@pytest.mark.parametrize(
    ("limits", "updates", "why"),
    [
        (Limits(steps=4), 4, "steps"),
        (Limits(steps=4, epochs=1), 3, "epochs"),
        (Limits(steps=6, epochs=2), 5, "epochs"),
        (Limits(epochs=1.5), 4, "epochs"),
        (Limits(steps=9, minutes=0.5), 2, "minutes"),
    ],
)
def test_the_first_limit_ends_it(
    training: Any, monkeypatch: pytest.MonkeyPatch, limits: Limits, updates: int, why: str
) -> None:
    clock = iter(range(0, 1000, 10))  # ten seconds pass between two looks at it
    monkeypatch.setattr(advance.time, "monotonic", lambda: next(clock))
    callback = counting(training, limits)
    for _ in range(updates):
        assert not training.stop_training
        state = update(callback)
    assert training.stop_training and state.ended == why
    assert state.step == updates


def test_time_is_of_all_pieces_and_speed_of_updates_alone(
    training: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Begin 0; batch 5 to 7; validation until 20; batch 20 to 23.
    clock = iter([0.0, 5.0, 7.0, 20.0, 23.0])
    monkeypatch.setattr(advance.time, "monotonic", lambda: next(clock))
    callback = counting(training, Limits(), seconds=100.0)
    update(callback)
    state = update(callback)
    assert (state.seconds, state.interval_seconds) == (123.0, 5.0)
    assert state.ended is None


def test_shares_of_what_is_limited() -> None:
    state = TrainingState(step=30, epoch=1, batch=5, seconds=90.0)
    assert Limits(steps=120, epochs=3, minutes=2.0).shares(state, 10) == {
        "steps": 0.25,
        "epochs": 0.5,
        "minutes": 0.75,
    }
    assert Limits().shares(state, 10) == {} and Limits().reached(state, 10) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_batch_and_a_second_one_at_once(training: Any, number: int) -> None:
    before = signal.getsignal(number)
    with Interruption() as interruption:
        callback = counting(training, Limits(steps=5))
        callback.interruption = interruption
        update(callback)
        os.kill(os.getpid(), number)
        assert not training.stop_training
        state = update(callback)
        assert training.stop_training and state.ended is None and state.step == 2
        assert interruption.signal == number
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) == before


def test_a_training_in_another_thread_leaves_signals_alone() -> None:
    before, seen = signal.getsignal(signal.SIGTERM), []

    def work() -> None:
        with Interruption():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
