"""How far an update moves weights, by hand."""

import keras
import numpy as np
import pytest

from tf_transformer.callbacks.board.weights import SAMPLED, WeightChanges


def watched() -> tuple[list[keras.Variable], WeightChanges]:
    variables = [keras.Variable(value) for value in ([[3.0, 0.0]], [4.0], [0.0, 12.0])]
    return variables, WeightChanges(variables, {"encoder": [0, 1], "head": [2]})


def test_ratios_are_of_lengths_in_all_and_by_part() -> None:
    variables, changes = watched()
    changes.watch()
    variables[1].assign([4.0 + 5.0])
    variables[2].assign([12.0, 12.0])
    # Lengths before: 5 and 12, together 13; of the changes 5 and 12, together 13.
    assert changes.ratios() == pytest.approx({"": 1.0, "encoder": 1.0, "head": 1.0})
    changes.watch()
    variables[0].assign([[3.0, 1.0]])
    assert changes.ratios()["encoder"] == pytest.approx(1 / np.sqrt(90)) and changes.ratios()["head"] == 0.0


def test_samples_are_of_weights_and_of_their_last_change() -> None:
    variables, changes = watched()
    assert {tag: list(values) for tag, values in changes.samples().items()} == {
        "weights/encoder": [3.0, 0.0, 4.0],
        "weights/head": [0.0, 12.0],
    }
    changes.watch()
    variables[1].assign([4.5])
    found = changes.samples()
    assert list(found["weights_changes/encoder"]) == [0.0, 0.0, 0.5] and list(
        found["weights_changes/head"]
    ) == [0.0, 0.0]
    changes.forget()
    assert "weights_changes/head" not in changes.samples() and changes.ratios() == {}


def test_large_parts_give_no_more_than_a_sample() -> None:
    large = keras.Variable(np.arange(25_001.0))
    (values,) = WeightChanges([large], {"table": [0]}).samples().values()
    assert len(values) <= SAMPLED and values[:3].tolist() == [0.0, 3.0, 6.0]
