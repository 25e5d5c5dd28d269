"""What a checkpoint keeps of where training stands."""

import json
from dataclasses import fields

from tf_transformer.callbacks.state import TrainingState


def test_every_counter_survives_a_checkpoint() -> None:
    numbers = {entry.name: place + 2 for place, entry in enumerate(fields(TrainingState))}
    state = TrainingState(**{**numbers, "ended": "steps"})
    restored = TrainingState()
    restored.restore(json.loads(json.dumps(state.to_json())))
    assert restored == state


def test_keys_of_other_versions_are_left_alone() -> None:
    state = TrainingState()
    state.restore({"step": 7, "sha256": {}, "from_the_future": 1})
    assert state == TrainingState(step=7)
