"""When validation runs, what it says of training, and when it ends it."""

import math
from typing import Any

import pytest

from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.validation import Validation
from tf_transformer.evaluation import Measure, Outcome

BLEU, LOSS = Measure("val_bleu", True), Measure("val_loss", False)


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def on_validation(self, record: dict[str, Any], outcome: Outcome) -> None:
        self.records.append(record)


def validating(training: Any, figures: list[dict[str, float]], every: int = 3, **options: Any) -> Validation:
    values = iter(figures)
    callback = Validation(
        options.pop("state", TrainingState()),
        every,
        lambda: Outcome(next(values)),
        options.pop("measure", BLEU),
        rate=lambda step: step / 100,
        **options,
    )
    callback.set_model(training)
    return callback


def run(callback: Validation, *steps: int) -> list[int]:
    """Tells of updates up to each of ``steps``; returns those at which validation ran."""
    ran = []
    for step in steps:
        before, callback.state.step = callback.state.validated, step
        callback.on_train_batch_end(0)
        if callback.state.validated != before:
            ran.append(step)
    return ran


def test_steps_are_ranked_by_what_their_validation_found() -> None:
    rows = [
        {"step": 2, "val_bleu": 7.0, "val_loss": 3.0},
        {"step": 4, "val_bleu": None, "val_loss": 2.0},
        {"step": 6, "val_bleu": 9.0, "val_loss": 2.5},
        {"step": 8, "val_bleu": 7.0, "val_loss": 2.0},
    ]
    # No figure is worst, whether it was none or its line is missing; of equals the later is better.
    assert BLEU.ranked([2, 4, 6, 8, 10], rows) == [4, 10, 2, 8, 6]
    assert LOSS.ranked([10, 8, 6, 4, 2], rows) == [10, 2, 6, 4, 8]


def test_it_runs_every_so_many_updates_once(training: Any) -> None:
    callback = validating(training, [{"val_bleu": 1.0}] * 9)
    # 3 comes twice: the update after it was skipped.
    assert run(callback, 1, 2, 3, 3, 4, 6) == [3, 6]


def test_the_last_update_is_validated_once(training: Any) -> None:
    callback = validating(training, [{"val_bleu": 1.0}] * 9)
    run(callback, 3)
    callback.state.ended = "minutes"
    assert run(callback, 4) == [4]
    assert run(callback, 4) == []


@pytest.mark.parametrize(
    ("measure", "values", "best", "waited"),
    [
        (BLEU, [5.0, 7.0, 7.0, 6.0], (7.0, 6), 2),
        (LOSS, [5.0, 7.0, 4.0, 4.5], (4.0, 9), 1),
        (BLEU, [math.nan, 2.0, math.nan], (2.0, 6), 1),
        (LOSS, [math.nan, math.nan], (None, None), 2),
    ],
)
def test_the_best_is_remembered_an_equal_one_is_no_better(
    training: Any, measure: Measure, values: list[float], best: Any, waited: int
) -> None:
    callback = validating(training, [{measure.name: value} for value in values], measure=measure)
    run(callback, *range(3, 3 * len(values) + 1, 3))
    state = callback.state
    assert ((state.best, state.best_step), state.waited) == (best, waited)


def test_training_ends_when_patience_does(training: Any) -> None:
    callback = validating(training, [{"val_bleu": value} for value in (5.0, 4.0, 3.0)], patience=2)
    run(callback, 3, 6)
    assert not training.stop_training and callback.state.ended is None
    run(callback, 9)
    assert training.stop_training and callback.state.ended == "early stopping"


def test_a_limit_that_was_reached_stays_the_reason(training: Any) -> None:
    callback = validating(training, [{"val_bleu": 5.0}, {"val_bleu": 4.0}], patience=1)
    run(callback, 3)
    callback.state.ended = "steps"
    run(callback, 4)
    assert callback.state.ended == "steps"


def test_a_record_holds_the_figures_of_the_interval_by_hand(training: Any) -> None:
    listener = Listener()
    state = TrainingState(epoch=2, seconds=500.0, interval_seconds=4.0, skipped=7)
    callback = validating(training, [{"val_bleu": 1.0}] * 2, state=state, listeners=[listener])
    training.sums |= {
        "loss_sum": 60.0,
        "target_tokens": 30.0,
        "source_tokens": 20.0,
        "target_positions": 40.0,
        "source_positions": 25.0,
        "gradient_norm_sum": 9.0,
        "updates": 3.0,
        "skipped": 1.0,
    }
    run(callback, 3)
    assert listener.records == [
        {
            "step": 3,
            "epoch": 2,
            "loss": 2.0,
            "learning_rate": 0.03,
            "gradient_norm": 3.0,
            "skipped_updates": 7,
            "target_padding": 0.25,
            "source_padding": pytest.approx(0.2),
            "target_tokens_per_second": 7.5,
            "source_tokens_per_second": 5.0,
            "seconds": 500.0,
            "val_bleu": 1.0,
        }
    ]
    assert set(training.sums.values()) == {0.0} and state.interval_seconds == 0.0
    run(callback, 6)  # an interval without a single token divides by nothing
    assert listener.records[1]["loss"] == 0.0
