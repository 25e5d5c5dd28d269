"""What happens to real runs: bad numbers, runaway losses, full disks, changed files, wished-for resets."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer import training_step
from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.errors import RunError
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.run_folder import RunFolder
from tf_transformer.trainer import train

SMALL = (
    "model.num_layers=1",
    "model.hidden_dim=8",
    "model.intermediate_dim=8",
    "model.num_heads=2",
    "training.batch_tokens=6000",
    "training.steps=6",
    "training.validate_every=3",
    "training.checkpoint_every=2",
    "decoding.beam=1",
)


def start(recipe: Path, run: Path, *overrides: str, **options: Any) -> int:
    """Trains in this process, quietly."""
    found = with_files(load_recipe(recipe, [*SMALL, *overrides]), recipe.parent)
    return train(found, run, quiet=True, **options)


def events(run: Path) -> list[dict[str, str]]:
    """What the run has logged."""
    return [json.loads(line) for line in (run / "events.jsonl").read_text().split("\n")[:-1]]


@pytest.fixture(scope="module")
def short_run(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six updates."""
    run = tmp_path_factory.mktemp("short") / "run"
    assert start(reversal, run) == 0
    return run


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Makes the loss of some updates NaN: the calls of a training step from one number to another."""
    smoothed = training_step.smoothed_cross_entropy

    def spoil(first: int, last: int) -> None:
        calls = tf.Variable(0)

        def loss(*arguments: Any) -> tf.Tensor:
            call = calls.assign_add(1)
            bad = (call > first) & (call <= last)
            return smoothed(*arguments) * tf.where(bad, np.nan, 1.0)

        monkeypatch.setattr(training_step, "smoothed_cross_entropy", loss)

    return spoil


def test_a_spoilt_update_is_skipped_counted_and_its_lines_are_named(
    reversal: Path, tmp_path: Path, spoilt: Callable[[int, int], None]
) -> None:
    spoilt(2, 4)
    assert start(reversal, tmp_path / "run") == 0
    rows = RunFolder.open(tmp_path / "run").metrics()
    assert [row["step"] for row in rows] == [3, 6]
    assert [row["skipped_updates"] for row in rows] == [2, 2]
    assert all(np.isfinite(row["loss"]) for row in rows)
    skipped = [event["detail"] for event in events(tmp_path / "run") if event["event"] == "skipped update"]
    assert len(skipped) == 2
    assert skipped[0].startswith("after update 2, the loss is nan; skipped: batch 2 of epoch 0, ")
    assert "(train.tsv:" in skipped[0] or "(train:" in skipped[0]
    # Data goes on where the updates did not.
    assert skipped[1].startswith("after update 2, the loss is nan; skipped: batch 3 of epoch 0, ")


def test_too_many_spoilt_updates_stop_and_leave_the_last_good_checkpoint(
    reversal: Path, tmp_path: Path, spoilt: Callable[[int, int], None]
) -> None:
    spoilt(3, 99)
    rule = r"4 updates in a row had no finite loss and gradient; stopped, .* The last one: after update 3, "
    with pytest.raises(RunError, match=rule):
        start(reversal, tmp_path / "run", "training.max_skipped=4")
    checkpoint, damaged = CheckpointStore(tmp_path / "run" / "checkpoints").newest()
    assert checkpoint is not None
    assert checkpoint.state["step"] == 3
    assert not damaged
    assert all(np.isfinite(weight).all() for weight in checkpoint.weights.values())


RUNAWAY = (
    "training.steps=60",
    "training.validate_every=10",
    "training.schedule={name: exponential, peak: 0.01, decay_rate: 1.0, warmup_steps: 0}",
)


def runaway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds 30 nats to the loss from call 21 on, as long as the rate has not been lowered."""
    step = training_step.TrainingModel.train_step

    def train_step(self: Any, data: Any) -> dict[str, tf.Tensor]:
        logs = step(self, data)
        ill = (self.optimizer.iterations > 20) & (tf.convert_to_tensor(self.rate_factor) > 0.9)
        return {**logs, "loss": logs["loss"] + tf.where(ill, 30.0, 0.0)}

    monkeypatch.setattr(training_step.TrainingModel, "train_step", train_step)


def test_a_runaway_loss_falls_back_to_the_best_checkpoint_at_a_lower_rate(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runaway(monkeypatch)
    overrides = (*RUNAWAY, "training.divergence={action: restore, patience: 5, rate_factor: 0.25}")
    assert start(reversal, tmp_path / "run", *overrides) == 0
    kinds = [event["event"] for event in events(tmp_path / "run")]
    assert kinds == ["divergence", "restored"]
    rates = {row["step"]: row["learning_rate"] for row in RunFolder.open(tmp_path / "run").metrics()}
    assert rates[20] == pytest.approx(0.01) or rates[20] == pytest.approx(0.0025)
    assert rates[60] == pytest.approx(0.0025)
    assert sorted(rates) == [10, 20, 30, 40, 50, 60]


def test_a_runaway_loss_can_stop(reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runaway(monkeypatch)
    with pytest.raises(
        RunError, match=r"stopped, the best checkpoint is untouched: after update 2\d, the loss is"
    ):
        start(reversal, tmp_path / "run", *RUNAWAY, "training.divergence={action: stop, patience: 5}")


def test_a_full_disk_stops_with_one_line_and_the_run_goes_on_when_there_is_room(
    reversal: Path, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = CheckpointStore.write

    def full(self: CheckpointStore, name: str, *rest: Any) -> None:
        if name == "step-00000004":
            raise OSError(28, "No space left on device", str(self.folder))
        write(self, name, *rest)

    monkeypatch.setattr(CheckpointStore, "write", full)
    rule = (
        r"cannot be written after update 4 \(No space left on device\); the checkpoint of update 3 is whole"
    )
    with pytest.raises(RunError, match=rule):
        start(reversal, tmp_path / "run")
    monkeypatch.setattr(CheckpointStore, "write", write)
    assert start(reversal, tmp_path / "run") == 0
    ours, theirs = (
        CheckpointStore(run / "checkpoints").read("step-00000006") for run in (tmp_path / "run", short_run)
    )
    for name, weight in theirs.weights.items():
        np.testing.assert_array_equal(ours.weights[name], weight)


def test_memory_that_does_not_suffice_says_what_to_lower(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: Any, **__: Any) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")

    monkeypatch.setattr(training_step.TrainingModel, "fit", exhausted)
    with pytest.raises(RunError, match=r"out of memory .*lower training.batch_tokens \(now 6000\).*OOM when"):
        start(reversal, tmp_path / "run")


def test_changed_text_is_told_and_taken_only_on_demand(
    reversal: Path, short_run: Path, tmp_path: Path
) -> None:
    shutil.copytree(reversal.parent, tmp_path / "data", ignore=shutil.ignore_patterns("run"))
    run = tmp_path / "run"
    shutil.copytree(short_run, run)
    recipe = tmp_path / "data" / "recipe.yaml"
    with (tmp_path / "data" / "train.tsv").open("a") as file:
        file.write("1 1 1 1 2\t2 1 1 1 1\n")
    with pytest.raises(RunError, match=r"text has changed .*data\.train\.0\.table: content .*--reset data"):
        start(recipe, run, "training.steps=8")
    assert start(recipe, run, "training.steps=8", reset=["data"]) == 0
    kinds = [event["event"] for event in events(run)]
    assert "recipe changed" in kinds
    assert "reset" in kinds


def test_another_batch_size_goes_on_with_the_next_epoch(
    reversal: Path, short_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(short_run, tmp_path / "run")
    assert CheckpointStore(run / "checkpoints").read("step-00000006").state["epoch"] == 1
    assert start(reversal, run, "training.steps=7", "training.batch_tokens=5000") == 0
    assert "new batches" in [event["event"] for event in events(run)]
    state = CheckpointStore(run / "checkpoints").read("step-00000007").state
    assert (state["epoch"], state["batch"]) == (2, 1)


def test_a_reset_begins_the_optimizer_and_the_schedule_anew(
    reversal: Path, short_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(short_run, tmp_path / "run")
    assert start(reversal, run, "training.steps=7", reset=["optimizer", "schedule"]) == 0
    row = RunFolder.open(run).metrics()[-1]
    assert row["step"] == 7
    assert row["learning_rate"] == pytest.approx(0.005 / 60)  # the first one of the warm-up again
    training = CheckpointStore(run / "checkpoints").read("step-00000007").training
    assert training["adam/iteration"] == 7
    # After one update from zero, Adam's mean is a tenth of the gradient; clipped to norm 1, so at most 0.1.
    means = [value for name, value in training.items() if name.endswith("momentum")]
    assert np.sqrt(sum(float((mean**2).sum()) for mean in means)) <= 0.1 + 1e-6
