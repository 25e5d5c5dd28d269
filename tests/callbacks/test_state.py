"""What a checkpoint keeps of where training stands."""

import json
from dataclasses import fields
from typing import Any

import pytest

from tf_transformer.callbacks.state import TrainingState


def test_every_counter_survives_a_checkpoint() -> None:
    numbers = {entry.name: place + 2 for place, entry in enumerate(fields(TrainingState))}
    state = TrainingState(**{**numbers, "plan": "digest", "side": "digest", "ended": "steps"})
    restored = TrainingState()
    restored.restore(json.loads(json.dumps(state.to_json())))
    assert restored == state


def test_keys_of_other_versions_are_left_alone() -> None:
    state = TrainingState()
    state.restore({"step": 7, "sha256": {}, "from_the_future": 1})
    assert state == TrainingState(step=7)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("step", "7", "step must be of type int. Received: '7'"),
        ("step", True, "step must be of type int. Received: True"),
        ("epoch", 1.5, "epoch must be of type int. Received: 1.5"),
        ("batch", -1, "batch must be at least 0. Received: -1"),
        ("seconds", None, "seconds must be of type float. Received: None"),
        ("best", [], r"best must be of type float or null. Received: \[\]"),
        ("best_step", "x", "best_step must be of type int or null"),
        ("plan", 3, "plan must be of type str or null"),
    ],
)
def test_a_value_of_another_type_is_refused(name: str, value: Any, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        TrainingState().restore({name: value})


def test_whole_numbers_pass_for_others() -> None:
    state = TrainingState()
    state.restore({"seconds": 3, "best": -2, "best_step": None})
    assert (state.seconds, state.best, state.best_step) == (3, -2, None)
