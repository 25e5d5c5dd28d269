"""What validations make of the learning rate, and that nothing else does."""

from types import SimpleNamespace
from typing import Any

import keras
import pytest

from tf_transformer.callbacks.plateau import Plateau, PlateauRules
from tf_transformer.callbacks.state import TrainingState


class Follower:
    """A plateau callback, the factor that it moves, and what it reports."""

    def __init__(self, state: TrainingState, factor: float = 1.0, **rules: Any) -> None:
        given = {"factor": 0.5, "patience": 2, "lowest": 0.0, "rise": 1.0, "highest": 4.0, **rules}
        self.state, self.told = state, []
        self.model = SimpleNamespace(rate_factor=keras.Variable(factor, trainable=False))
        self.callback = Plateau(
            state, PlateauRules(**given), lambda kind, line: self.told.append((kind, line))
        )
        self.callback.set_model(self.model)

    def validate(self, better: bool) -> float:
        """An update with a validation, and one without; the factor after both."""
        state = self.state
        state.step += 1
        self.callback.on_train_batch_end(0)
        state.step += 1
        state.validated = state.step
        if better:
            state.best, state.best_step, state.waited = float(state.step), state.step, 0
        else:
            state.waited += 1
        for _ in range(2):  # the second one was skipped
            self.callback.on_train_batch_end(0)
        return float(self.model.rate_factor)


def factors(follower: Follower, course: str) -> list[float]:
    """The factor after each validation: + is a better one, - is not."""
    return [follower.validate(sign == "+") for sign in course]


def test_it_falls_when_patience_is_at_an_end_and_again_when_it_is_once_more() -> None:
    follower = Follower(TrainingState())
    assert factors(follower, "+-+--") == [1, 1, 1, 1, 0.5]
    assert factors(follower, "+---") == [0.5, 0.5, 0.25, 0.25]
    assert factors(follower, "+----") == [0.25, 0.25, 0.125, 0.125, 0.0625]
    kind, line = follower.told[0]
    assert kind == "rate lowered"
    assert line == "no better in 2 validations at update 10: the learning rate times 0.5"
    assert len(follower.told) == 4


def test_it_does_not_fall_below_the_lowest() -> None:
    follower = Follower(TrainingState(), patience=1, lowest=0.3)
    assert factors(follower, "+---") == pytest.approx([1, 0.5, 0.3, 0.3])
    assert len(follower.told) == 2


def test_it_rises_while_it_gets_better_where_asked_to() -> None:
    # The first validation is better than nothing, which says nothing.
    follower = Follower(TrainingState(), rise=1.5, highest=2.0)
    assert factors(follower, "++++-+") == pytest.approx([1, 1.5, 2, 2, 2, 2])
    assert follower.told[0] == (
        "rate raised",
        "validation got better at update 4: the learning rate times 1.5",
    )


def test_a_factor_beyond_a_limit_is_not_pulled_back() -> None:
    # A restore after a divergence has put it there.
    follower = Follower(TrainingState(), factor=0.125, lowest=0.3, patience=1)
    assert factors(follower, "+-") == [0.125, 0.125]
    follower = Follower(TrainingState(), factor=8.0, rise=1.5, highest=2.0)
    assert factors(follower, "++") == [8, 8]


@pytest.mark.parametrize("cut", range(1, 11))
def test_stopped_anywhere_it_goes_on_as_if_it_had_not(cut: int) -> None:
    course, rules = "++--+---++-", {"rise": 1.25, "patience": 2}
    whole = factors(Follower(TrainingState(), **rules), course)
    first = Follower(TrainingState(), **rules)
    begun = factors(first, course[:cut])
    again = TrainingState()
    again.restore(first.state.to_json())
    assert begun + factors(Follower(again, factor=begun[-1], **rules), course[cut:]) == whole
