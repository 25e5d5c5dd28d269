"""Trainings that begin from a run: its weights and its side, and all else anew."""

import json
from pathlib import Path
from typing import Any

import pytest
from trainings import Crash, after_update, crash, demand_equal, events, metrics, start

from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.run_folder import RunFolder

SHORT = ("training.validate_every=3", "training.schedule={name: constant, peak: 0.0001, warmup_steps: 1}")


def weights_of(run: Path, name: str) -> Any:
    return CheckpointStore(run / "checkpoints").read(name).weights


def test_a_training_begins_where_a_run_stands(trained_run: Path, reversal: Path, tmp_path: Path) -> None:
    run, best = tmp_path / "run", CheckpointStore(trained_run / "checkpoints").resolve("best")
    beginning = f"training.initialize_from={trained_run}"
    assert start(reversal, run, beginning, *SHORT, "training.steps=3") == 0
    before = CheckpointStore(trained_run / "checkpoints").read(best)
    (first,) = metrics(run)
    was = next(row for row in metrics(trained_run) if row["step"] == before.state["step"])
    assert first["step"] == 3 and first["val_loss"] < was["val_loss"] + 0.1
    assert any(
        event["detail"].endswith(best) for event in events(run) if event["event"] == "begun from a run"
    )
    assert (run / "tokenizer" / "preprocessor.json").read_bytes() == (
        trained_run / "tokenizer" / "preprocessor.json"
    ).read_bytes()
    files = {file.path: file.sha256 for file in RunFolder.open(run).recipe().files}
    state = json.loads((before.folder / "state.json").read_text())
    assert files[str(before.folder / "weights.npz")] == state["sha256"]["weights.npz"]


def test_it_goes_on_exactly_and_never_begins_again(
    trained_run: Path, reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = (f"training.initialize_from={trained_run}", *SHORT, "training.steps=6")
    assert start(reversal, tmp_path / "whole", *keys) == 0
    after_update(monkeypatch, 4, crash)
    with pytest.raises(Crash):
        start(reversal, tmp_path / "cut", *keys)
    assert start(reversal, tmp_path / "cut", *keys) == 0
    demand_equal(tmp_path / "whole", tmp_path / "cut", "step-00000006")
