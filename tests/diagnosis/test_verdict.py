"""Why one batch was not learnt, and at which rate."""

import math

import pytest

from tf_transformer.diagnosis.rates import Attempt, highest_rate
from tf_transformer.diagnosis.verdict import learning_sign
from tf_transformer.evaluation.loss_floor import LossFloor
from tf_transformer.schedules import Constant, WarmupInverseSqrt, WarmupLinear

FLOOR = LossFloor(labels=100, lowest=1.0, frequencies=4.0, uniform=7.0)


def told(*attempts: Attempt) -> list[str]:
    return [f"{sign.name}: {sign.line}" for sign in learning_sign(attempts, FLOOR, 1.15)]


def test_what_is_learnt_has_no_sign() -> None:
    assert told(Attempt(0.1, [8.0, 1.1], True)) == []


@pytest.mark.parametrize(("rate", "kind"), [(0.001, "too high"), (1.0, "too low for a start from nothing")])
def test_a_rate_that_is_not_right_is_told_with_one_that_is(rate: float, kind: str) -> None:
    first, last = Attempt(0.1, [8.0, 4.0, 3.9], False), Attempt(rate, [8.0, 2.0, 1.1], True)
    assert told(first, last) == [
        f"learning rate: the learning rate is {kind}: at 0.1, its highest, the loss is 3.900 after 3 "
        f"updates; at {rate:.2g} the same batch is learnt in 2 updates. `tf-transformer plot lr-range` finds "
        "one for training.schedule"
    ]


@pytest.mark.parametrize(
    ("least", "words"),
    [
        (6.95, "It never fell below 7.000, the logarithm of the number of labels: no gradient reaches the"),
        (3.95, "It never fell below 4.000, which is what knowing how frequent labels are gives: the model"),
        (
            1.6,
            "The least was 1.600, and the floor is 1.000: something keeps the model from learning by heart",
        ),
    ],
)
def test_what_is_learnt_at_no_rate_is_told_by_how_far_it_came(least: float, words: str) -> None:
    (line,) = told(Attempt(0.1, [8.0, math.nan], False), Attempt(0.01, [8.0, least, 8.0], False))
    assert line.startswith(
        "not learnt: the batch is learnt at no rate: at 0.1, there is no loss any more after 2"
    )
    assert words in line


def test_the_highest_rate_of_a_schedule() -> None:
    assert highest_rate(Constant(peak=0.25, warmup_steps=5), 100) == pytest.approx(0.25)
    assert highest_rate(WarmupInverseSqrt(peak=0.25, warmup_steps=777), None) == pytest.approx(0.25)
    assert highest_rate(WarmupInverseSqrt(peak=0.25, warmup_steps=40), 10) == pytest.approx(0.25 * 10 / 40)
    linear = WarmupLinear(peak=0.25, total_steps=90, warmup_steps=30)
    assert highest_rate(linear, 90) == pytest.approx(0.25)
