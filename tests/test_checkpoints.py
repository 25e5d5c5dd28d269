"""Checkpoints are whole or absent, verified when read, and averaged exactly."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tf_transformer.checkpoints import CheckpointStore, Index, step_name
from tf_transformer.errors import RunError


def store_with(folder: Path, *steps: int) -> CheckpointStore:
    """A store whose weights at a step are that number."""
    store = CheckpointStore(folder / "checkpoints")
    for step in steps:
        weights = {"a/kernel": np.full((2, 3), step, np.float32), "b": np.array(step, np.float32)}
        store.write(step_name(step), weights, {"adam/m": np.array([step])}, {"step": step})
    store.write_index(Index(last=max(steps), best=min(steps), kept=list(steps)))
    return store


def test_what_was_written_is_read(tmp_path: Path) -> None:
    checkpoint = store_with(tmp_path, 3, 5).read("step-00000005")
    assert checkpoint.state["step"] == 5
    np.testing.assert_array_equal(checkpoint.weights["a/kernel"], np.full((2, 3), 5, np.float32))
    np.testing.assert_array_equal(checkpoint.training["adam/m"], [5])


def test_best_last_average_and_steps_are_found_by_name(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3, 5)
    assert [store.resolve(name) for name in ("best", "last", "5")] == [
        step_name(3),
        step_name(5),
        step_name(5),
    ]
    with pytest.raises(RunError, match=r"no checkpoint average; make it with .*Steps there: 3, 5"):
        store.resolve("average")
    with pytest.raises(RunError, match=r"no checkpoint 4. Steps there: 3, 5"):
        store.resolve("4")
    with pytest.raises(RunError, match=r"must be best, last, average or a step. Received: newest"):
        store.resolve("newest")


def test_the_average_is_the_best_when_dev_says_so(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3, 5)
    store.write_index(Index(last=5, best=3, kept=[3, 5], average_is_best=True))
    assert store.resolve("best") == step_name(3)  # there is no average on disk
    store.write("average", {"a": np.array(1.0)})
    assert store.resolve("best") == "average"
    assert store.resolve("last") == step_name(5)


def test_an_untrained_run_has_no_checkpoint(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    assert store.newest() == (None, [])
    with pytest.raises(RunError, match="holds no checkpoint; train it first"):
        store.resolve("best")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "longer": lambda content: content + b"}",
    "altered": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
}


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        (file, damage)
        for file in ("weights.npz", "training.npz", "state.json")
        for damage in (*DAMAGES, "missing")
        # Its last byte is the end of a line, and may be lost.
        if (file, damage) != ("state.json", "one byte short")
    ],
)
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(
    tmp_path: Path, file: str, damage: str
) -> None:
    store = store_with(tmp_path, 3, 5)
    path = store.folder / step_name(5) / file
    path.write_bytes(DAMAGES[damage](path.read_bytes())) if damage in DAMAGES else path.unlink()
    checkpoint, damaged = store.newest()
    assert checkpoint is not None
    assert checkpoint.name == step_name(3)
    assert len(damaged) == 1
    assert "step-00000005: damaged checkpoint (" in damaged[0] and file in damaged[0]
    with pytest.raises(RunError, match=r"step-00000005: damaged checkpoint"):
        store.average([3, 5])


@pytest.mark.parametrize("state", ['{"step": 5}', '{"sha256": {}}', '{"sha256": 7}', "[]", "\xff"])
def test_a_state_that_says_too_little_is_damage(tmp_path: Path, state: str) -> None:
    store = store_with(tmp_path, 3, 5)
    (store.folder / step_name(5) / "state.json").write_text(state, encoding="latin-1")
    checkpoint, damaged = store.newest()
    assert checkpoint is not None and checkpoint.name == step_name(3)
    assert "step-00000005: damaged checkpoint" in damaged[0]


def test_an_altered_place_in_the_data_is_damage(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3, 5)
    path = store.folder / step_name(5) / "state.json"
    path.write_text(path.read_text().replace('"step": 5', '"step": 4'))
    checkpoint, damaged = store.newest()
    assert checkpoint is not None and checkpoint.name == step_name(3)
    assert "step-00000005: damaged checkpoint (state.json does not match its SHA-256)" in damaged[0]


def test_a_state_of_the_first_runs_has_no_checksum_of_its_own(tmp_path: Path) -> None:
    store = store_with(tmp_path, 5)
    path = store.folder / step_name(5) / "state.json"
    state = json.loads(path.read_text())
    del state["sha256"]["state.json"]
    path.write_text(json.dumps(state))
    assert store.read(step_name(5)).state["step"] == 5


def test_nothing_whole_is_an_error(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    (store.folder / step_name(3) / "state.json").unlink()
    with pytest.raises(RunError, match=r"no checkpoint can be read: .*step-00000003"):
        store.newest()


def test_the_index_decides_what_stays(tmp_path: Path) -> None:
    store = store_with(tmp_path, 2, 3, 5, 7)
    store.write_index(Index(last=7, best=2, kept=[5, 7]))
    assert sorted(path.name for path in store.folder.glob("step-*")) == [
        step_name(step) for step in (2, 5, 7)
    ]


def test_a_failed_write_leaves_the_checkpoint_before_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_with(tmp_path, 3)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        store.write(step_name(4), {"a": np.zeros(1)})
    assert [path.name for path in store.folder.iterdir() if path.is_dir()] == [step_name(3)]
    assert store.read(step_name(3)).state["step"] == 3


def test_writing_again_replaces(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    store.write("average", {"a": np.array(1.0)})
    store.write("average", {"a": np.array(2.0)})
    assert store.read("average").weights["a"] == 2.0
    assert not list(store.folder.glob(".*"))


def test_the_average_is_the_mean(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3, 5, 10)
    weights = store.average([3, 5, 10])
    np.testing.assert_array_equal(weights["a/kernel"], np.full((2, 3), 6, np.float32))
    assert weights["b"].dtype == np.float32
    with pytest.raises(RunError, match="no kept checkpoint to average"):
        store.average([])


def test_checkpoints_of_other_weights_are_not_averaged(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    store.write(step_name(5), {"other": np.zeros(2)})
    with pytest.raises(RunError, match="steps 3 and 5 hold different weights"):
        store.average([3, 5])
    weights = {name: np.ones((7, *array.shape)) for name, array in store.read(step_name(3)).weights.items()}
    store.write(step_name(7), weights)
    with pytest.raises(RunError, match="steps 3 and 7 hold different weights"):
        store.average([3, 7])
    halves = {name: array.astype(np.float16) for name, array in store.read(step_name(3)).weights.items()}
    store.write(step_name(9), halves)
    with pytest.raises(RunError, match="steps 3 and 9 hold different weights"):
        store.average([3, 9])


INDEX = {"last": 5, "best": 3, "kept": [3, 5], "average_is_best": False}


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("{", "Expecting property name"),
        ("[" * 99_999, "nested too deeply"),
        ("[]", "must be an object with the keys last, best, kept, average_is_best"),
        ('{"first": 1}', "must be an object with the keys"),
        (json.dumps({**INDEX, "last": "5"}), "last and best must be steps or null, and kept a list of steps"),
        (json.dumps({**INDEX, "best": True}), "last and best must be steps or null"),
        (json.dumps({**INDEX, "kept": 5}), "kept a list of steps"),
        (json.dumps({**INDEX, "kept": [-1]}), "kept a list of steps"),
        (json.dumps({**INDEX, "average_is_best": 1}), "average_is_best must be true or false"),
        (json.dumps({**INDEX, "last": None}), "names no last checkpoint, and there are some"),
        (None, "is missing"),
    ],
)
def test_a_broken_index_is_named_with_its_rule(tmp_path: Path, content: str | None, rule: str) -> None:
    store = store_with(tmp_path, 3, 5)
    path = store.folder / "index.json"
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(RunError, match=rf"index\.json: broken index of checkpoints: .*{rule}"):
        store.index()
    assert store.resolve("5") == step_name(5)  # what is asked for by its number needs no index


def test_an_index_that_names_what_is_gone_is_not_whole(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3, 5)
    assert store.whole_index() == store.index() == Index(**INDEX)
    shutil.rmtree(store.folder / step_name(3))
    with pytest.raises(RunError, match=r"index\.json: broken .* names step-00000003, which is gone"):
        store.whole_index()
    shutil.rmtree(store.folder)
    assert store.index() == Index()


def test_an_index_is_made_from_the_checkpoints(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    for step, validated, best in ((2, 2, 2), (4, 4, 2), (6, 6, 6), (8, 8, 6), (9, 8, 6)):
        state = {"step": step, "validated": validated, "best_step": best}
        store.write(step_name(step), {"a": np.zeros(1)}, state=state)
    assert store.made_index(keep=3) == Index(last=9, best=6, kept=[4, 6, 8])
    assert store.made_index(keep=9) == Index(last=9, best=6, kept=[2, 4, 6, 8])
    assert store.made_index(keep=1, average_is_best=True).average_is_best is False
    store.write("average", {"a": np.zeros(1)})
    assert store.made_index(keep=1, average_is_best=True).average_is_best is True
    shutil.rmtree(tmp_path / step_name(6))
    (tmp_path / step_name(9) / "state.json").write_text("{")
    assert store.made_index(keep=9) == Index(last=8, best=2, kept=[2, 4, 8])
    for path in tmp_path.glob("*/state.json"):
        path.write_text("[]")
    with pytest.raises(RunError, match="holds no checkpoint that an index could be made from"):
        store.made_index(keep=9)


def test_a_best_checkpoint_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    for step in (2, 4):
        store.write(step_name(step), {"a": np.zeros(1)}, state={"step": step, "best": 7.5, "best_step": 2})
    newest = store.newest()[0]
    assert newest is not None and newest.state["best_step"] == 2
    shutil.rmtree(tmp_path / step_name(2))
    newest = store.newest()[0]
    assert newest is not None and newest.state["best"] is newest.state["best_step"] is None


def test_a_replacement_cut_short_is_undone(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    (store.folder / step_name(3)).rename(store.folder / f".{step_name(3)}.old")
    assert store.newest()[0] is None
    store.recover()
    assert store.read(step_name(3)).state["step"] == 3


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3, 5)
    for name in ("step-mine", "step-3", "step-best", "step-\u0663", f"step-{'9' * 5000}"[:200]):
        (store.folder / name).mkdir()
    store.write_index(Index(last=5, best=5, kept=[]))
    assert len([path for path in store.folder.glob("step-*")]) == 6
    with pytest.raises(RunError, match=r"no checkpoint 3\. Steps there: 5$"):
        store.resolve("3")


@pytest.mark.parametrize("name", ["bogus", "", "-3", "1.5", "\u0663", "9" * 5000, "../5"])
def test_what_can_be_no_checkpoint(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError, match=r"must be best, last, average or a step\. Received: "):
        store_with(tmp_path, 3).resolve(name)
