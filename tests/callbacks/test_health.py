"""What is told of bad numbers, and what is done about them."""

import math
import re
from typing import Any

import keras
import pytest

from tf_transformer.callbacks.health import DivergenceError, Health, HealthRules
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.errors import RunError

RULES = {"max_skipped": 3, "above": 1.0, "patience": 2, "action": "warn"}


class Watched:
    """A health callback, and what it has told.

    Args:
        training: The model that it watches.
        **rules: What differs from ``RULES``.
    """

    def __init__(self, training: Any, **rules: Any) -> None:
        self.told: list[tuple[str, str]] = []
        self.state = TrainingState(step=5, epoch=1, batch=2)
        self.health = Health(
            self.state,
            HealthRules(**{**RULES, **rules}),
            lambda epoch, batch: [f"train.en:{10 * epoch + batch + line}" for line in range(7)],
            lambda kind, line: self.told.append((kind, line)),
        )
        self.health.set_model(training)

    def update(self, loss: float, taken: bool = True) -> None:
        self.state.step += taken
        self.health.on_train_batch_end(0, {"loss": loss, "taken": int(taken)})
        self.state.batch += 1


@pytest.fixture
def scaled(training: Any) -> Any:
    """A model whose optimizer scales its loss."""
    training.optimizer.dynamic_scale = keras.Variable(4.0, name="dynamic_scale")
    return training


def test_a_skipped_update_is_told_with_its_first_lines(training: Any) -> None:
    watched = Watched(training)
    watched.update(math.inf, taken=False)
    watched.update(2.0, taken=False)
    lines = "train.en:12, train.en:13, train.en:14, train.en:15, train.en:16, …"
    assert watched.told[0] == (
        "skipped update",
        f"after update 5, the loss is inf; skipped: batch 2 of epoch 1, 7 pairs ({lines})",
    )
    assert watched.told[1][1].startswith(
        "after update 5, the gradient is not finite; skipped: batch 3 of epoch 1, 7 pairs (train.en:13, "
    )


def test_only_skipped_updates_in_a_row_stop(training: Any) -> None:
    watched = Watched(training)
    for taken in (False, False, True, False, False):
        watched.update(math.nan, taken)
    assert watched.state.skipped_in_a_row == 2
    with pytest.raises(RunError, match=r"3 updates in a row .*train\.en:18.* Lower the learning rate, or"):
        watched.update(math.nan, taken=False)


def test_labels_that_are_all_padding_are_no_bad_numbers(training: Any) -> None:
    watched = Watched(training, max_skipped=2)
    logs = {"loss": 0.0, "taken": 0, "gradient_norm": 0.0}
    watched.health.on_train_batch_end(0, logs)
    assert "after update 5, no label counts, all of them are padding; skipped: batch 2" in watched.told[0][1]
    with pytest.raises(RunError, match=r"2 updates in a row had nothing to learn; .* Look at the text$"):
        watched.health.on_train_batch_end(0, logs)
    watched = Watched(training)
    watched.health.on_train_batch_end(0, {**logs, "gradient_norm": math.inf})
    assert "the gradient is not finite" in watched.told[0][1]


def test_a_loss_scale_that_falls_is_held_and_told_once(scaled: Any) -> None:
    watched, scale = Watched(scaled, max_skipped=99), scaled.optimizer.dynamic_scale
    seen = []
    for _ in range(200):  # as often as would halve any scale to zero
        scale.assign(0.5 * scale)
        watched.update(2.0, taken=False) if len(seen) % 2 else watched.update(2.0)
        seen.append(float(scale.numpy()))
    assert seen[:4] == [2.0, 1.0, 1.0, 1.0] and set(seen[4:]) == {1.0}
    told = [line for kind, line in watched.told if kind == "loss scale"]
    assert len(told) == 1
    assert re.match(r"after update 7, it is at its least, 1, and gradients overflow all the same", told[0])


def test_a_loss_scale_that_falls_again_is_told_again(scaled: Any) -> None:
    watched, scale = Watched(scaled), scaled.optimizer.dynamic_scale
    for value in (0.5, 0.5, 8.0, 1.0, 0.5):
        scale.assign(value)
        watched.update(2.0)
    assert [kind for kind, _ in watched.told] == ["loss scale", "loss scale"]


def test_a_loss_that_runs_away_is_told_once_it_lasts(training: Any) -> None:
    watched = Watched(training, patience=3)
    # Each loss of 102 moves the smoothed one, 2, by a fiftieth of what is left: 4, 5.96, 7.8808.
    for loss in (2.0, 102.0, 102.0, 102.0, 102.0):
        watched.update(loss)
    assert [kind for kind, _ in watched.told] == ["divergence"]
    assert watched.told[0][1].startswith(
        "after update 9, the loss is 7.881 and has been more than 1 above its lowest value, 2.000, for 3 upd"
    )


@pytest.mark.parametrize(("action", "error"), [("stop", RunError), ("restore", DivergenceError)])
def test_what_the_recipe_says_happens_then(training: Any, action: str, error: type[Exception]) -> None:
    watched = Watched(training, action=action)
    watched.update(2.0)
    watched.update(102.0)
    with pytest.raises(error, match=r"after update 8, the loss is 5\.960"):
        watched.update(102.0)


def test_a_new_low_is_no_divergence_and_a_return_ends_the_count(training: Any) -> None:
    watched = Watched(training)
    for loss in (2.0, 102.0, -198.0, 102.0, -198.0, 1.0):
        watched.update(loss)
    assert watched.told == [] and watched.state.lowest_loss < 2.0
