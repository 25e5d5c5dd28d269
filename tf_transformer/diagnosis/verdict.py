"""What it means that one batch was not learnt."""

import math
from collections.abc import Sequence

from tf_transformer.diagnosis.rates import Attempt
from tf_transformer.evaluation.loss_floor import LossFloor
from tf_transformer.evaluation.signs import Sign

NEAR_LEVEL = 0.1
"""Nats by which a loss may miss what it is compared with."""


def learning_sign(attempts: Sequence[Attempt], floor: LossFloor, near: float) -> list[Sign]:
    """Why the recipe's rate, the first of some attempts, has not learnt a batch; nothing where it has.

    Args:
        attempts: See `try_rates`.
        floor: The bounds of the loss.
        near: The loss from which on the batch counts as learnt.
    """
    first, last = attempts[0], attempts[-1]
    if first.learnt:
        return []
    end = _end(first)
    if last.learnt:
        kind = "too high" if last.rate < first.rate else "too low for a start from nothing"
        return [
            Sign(
                "learning rate",
                f"the learning rate is {kind}: at {first.rate:.2g}, its highest, {end}; at {last.rate:.2g} "
                f"the same batch is learnt in {last.updates} updates. `tf-transformer plot lr-range` finds "
                "one for training.schedule",
            )
        ]
    finite = (loss for one in attempts for loss in one.losses if math.isfinite(loss))
    level = _level(min(finite, default=math.inf), floor)
    return [Sign("not learnt", f"the batch is learnt at no rate: at {first.rate:.2g}, {end}. {level}")]


def _end(attempt: Attempt) -> str:
    loss = attempt.losses[-1]
    after = f"after {attempt.updates} updates"
    return f"the loss is {loss:.3f} {after}" if math.isfinite(loss) else f"there is no loss any more {after}"


def _level(lowest: float, floor: LossFloor) -> str:
    if lowest >= floor.uniform - NEAR_LEVEL:
        return (
            f"It never fell below {floor.uniform:.3f}, the logarithm of the number of labels: no gradient "
            "reaches the weights, or they do not reach the answer"
        )
    if lowest >= floor.frequencies - NEAR_LEVEL:
        return (
            f"It never fell below {floor.frequencies:.3f}, which is what knowing how frequent labels are "
            "gives: the model does not use its inputs"
        )
    return (
        f"The least was {lowest:.3f}, and the floor is {floor.lowest:.3f}: something keeps the model from "
        "learning by heart, or it is too small for the batch"
    )
