"""What a run has learnt by itself, kept beside the run that it began from."""

import json
from pathlib import Path

import numpy as np
import pytest

from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.checkpoints.apart import EXACT, joined, taken_apart
from tf_transformer.errors import RunError

DRAW = np.random.default_rng(1)


def drawn(*shape: int) -> np.ndarray:
    return DRAW.normal(size=shape).astype("float32")


def test_each_kind_of_difference() -> None:
    start = {
        "same": drawn(3),
        "bias": drawn(7),
        "thin": drawn(31, 17),
        "full": drawn(7, 5),
        "head": drawn(5, 2),
    }
    thin = start["thin"] + 2.0 * drawn(31, 2) @ drawn(2, 17)
    weights = {**start, "bias": drawn(7), "thin": thin, "full": drawn(7, 5), "head": drawn(5, 3)}
    parts = taken_apart(weights, start)
    shapes = {name: part.shape for name, part in parts.items()}
    assert shapes == {
        "bias:d": (7,),
        "thin:a": (31, 2),
        "thin:b": (2, 17),
        "full:d": (7, 5),
        "head:w": (5, 3),
    }
    again = joined(parts, start)
    assert again.keys() == weights.keys()
    np.testing.assert_array_equal(again["same"], weights["same"])
    np.testing.assert_array_equal(again["head"], weights["head"])
    for name in ("bias", "thin", "full"):
        np.testing.assert_allclose(again[name], weights[name], atol=2 * EXACT * np.abs(weights[name]).max())
    with pytest.raises(ValueError, match="bias is no weight of the run that it began from"):
        joined(parts, {"thin": start["thin"]})


def test_a_checkpoint_beside_its_beginning(tmp_path: Path) -> None:
    start, weights = {"kernel": drawn(29, 23)}, {}
    weights["kernel"] = start["kernel"] + drawn(29, 1) @ drawn(1, 23)
    beginning = CheckpointStore(tmp_path / "base" / "checkpoints")
    beginning.write("step-00000003", start, state={"step": 3})
    file = beginning.folder / "step-00000003" / "weights.npz"
    store = CheckpointStore(tmp_path / "apart" / "checkpoints")
    assert store.write_apart(7, weights, start, file) == 4 * (29 + 23)
    assert store.resolve("best") == store.resolve("last") == "step-00000007"
    found = store.read("step-00000007")
    np.testing.assert_allclose(found.weights["kernel"], weights["kernel"], atol=1e-5)
    assert found.state["step"] == 7

    state = store.folder / "step-00000007" / "state.json"
    before = state.read_text()
    state.write_text(json.dumps({**json.loads(before), "begun_from": None}))
    with pytest.raises(
        RunError, match=r"step-00000007: damaged checkpoint \(state.json does not match its SHA"
    ):
        store.read("step-00000007")
    state.write_text(before)
    beginning.write("step-00000003", weights, state={"step": 3})
    with pytest.raises(RunError, match=r"weights.npz holds other weights than those that it goes with"):
        store.read("step-00000007")
    file.unlink()
    with pytest.raises(RunError, match=r"the weights that it goes with, .*weights.npz, are gone"):
        store.read("step-00000007")
