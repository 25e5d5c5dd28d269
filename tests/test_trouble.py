"""What happens to real runs: bad numbers, runaway losses, full disks, changed files, wished-for resets."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import trainings
from surroundings import FULL, SmallDisk
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from trainings import demand_equal, events

from tf_transformer import training_step
from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.errors import ProjectError, RunError
from tf_transformer.evaluation.translation import TranslationEvaluator
from tf_transformer.models import Transformer
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Preprocessor

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
    """Trains a small model in this process."""
    return trainings.start(recipe, run, *SMALL, *overrides, **options)


def scalars(run: Path, tag: str) -> dict[int, float]:
    """What TensorBoard shows of the training under a tag, by update."""
    accumulator = EventAccumulator(str(run / "tensorboard" / "train"), size_guidance={"tensors": 0})
    accumulator.Reload()
    return {event.step: float(tf.make_ndarray(event.tensor_proto)) for event in accumulator.Tensors(tag)}


@pytest.fixture(scope="module")
def short_run(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six updates."""
    run = tmp_path_factory.mktemp("short") / "run"
    assert start(reversal, run) == 0
    return run


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes the loss of some updates NaN, or their gradient infinite: calls from one number up to another."""
    usual = Transformer.training_loss

    @tf.custom_gradient
    def steep(losses: tf.Tensor, factor: tf.Tensor) -> Any:
        return losses, lambda upstream: (upstream * factor, None)

    def spoil(first: int, last: int, only_gradient: bool = False) -> None:
        calls = tf.Variable(0)

        def losses(*arguments: Any, **options: Any) -> tf.Tensor:
            call = calls.assign_add(1)
            bad = (call > first) & (call <= last)
            values = usual(*arguments, **options)
            if only_gradient:
                return steep(values, tf.where(bad, np.inf, 1.0))
            return values * tf.where(bad, np.nan, 1.0)

        monkeypatch.setattr(Transformer, "training_loss", losses)

    return spoil


@pytest.mark.parametrize("precision", ["float32", "mixed_float16"])
def test_a_spoilt_update_is_skipped_counted_and_its_lines_are_named(
    reversal: Path, tmp_path: Path, spoilt: Callable[..., None], precision: str
) -> None:
    spoilt(2, 4)
    assert start(reversal, tmp_path / "run", f"training.precision={precision}") == 0
    rows = RunFolder.open(tmp_path / "run").metrics()
    assert [row["step"] for row in rows] == [3, 6]
    assert [row["skipped_updates"] for row in rows] == [2, 2]
    assert scalars(tmp_path / "run", "update/skipped") == {3: 2.0, 6: 2.0}
    assert all(np.isfinite(row["loss"]) for row in rows)
    skipped = [event["detail"] for event in events(tmp_path / "run") if event["event"] == "skipped update"]
    assert len(skipped) == 2
    assert skipped[0].startswith("after update 2, the loss is nan; skipped: batch 2 of epoch 0, ")
    assert "(train.tsv:" in skipped[0] or "(train:" in skipped[0]
    # Data goes on where the updates did not.
    assert skipped[1].startswith("after update 2, the loss is nan; skipped: batch 3 of epoch 0, ")


@pytest.mark.parametrize(("precision", "most"), [("float32", 4), ("mixed_float16", 19)])
def test_too_many_spoilt_updates_stop_and_leave_the_last_good_checkpoint(
    reversal: Path, tmp_path: Path, spoilt: Callable[..., None], precision: str, most: int
) -> None:
    spoilt(3, 99, only_gradient=precision == "mixed_float16")
    rule = (
        rf"{most} updates in a row had no finite loss and gradient; stopped, .*: after update 3, .*train:\d"
    )
    with pytest.raises(RunError, match=rule):
        start(reversal, tmp_path / "run", f"training.max_skipped={most}", f"training.precision={precision}")
    checkpoint, damaged = CheckpointStore(tmp_path / "run" / "checkpoints").newest()
    assert checkpoint is not None
    assert checkpoint.state["step"] == 3
    assert not damaged
    assert all(np.isfinite(weight).all() for weight in checkpoint.weights.values())
    kinds = [event["event"] for event in events(tmp_path / "run")]
    assert kinds.count("skipped update") == most
    # Halved 15 times, the loss scale is 1: it does not fall on to where nothing is left of a gradient.
    assert kinds.count("loss scale") == (1 if precision == "mixed_float16" else 0)


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


@pytest.mark.parametrize("mount", [True, False], ids=["mounted", "limited"])
def test_a_disk_that_fills_during_a_checkpoint_costs_nothing_before_it(
    reversal: Path,
    short_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mount: bool,
    figure: Callable[[str], None],
) -> None:
    disk, write = SmallDisk(tmp_path / "disk", mount=mount), CheckpointStore.write
    run = disk.folder / "run"
    if mount and not disk.is_mounted:
        figure("no disk can be mounted here; the size of files was limited in its place")

    def write_on_a_full_disk(self: CheckpointStore, name: str, *rest: Any) -> None:
        if name == "step-00000004":
            disk.fill(spare=4096)  # room for a part of it
        write(self, name, *rest)

    try:
        monkeypatch.setattr(CheckpointStore, "write", write_on_a_full_disk)
        rule = rf"cannot be written after update 4 \({FULL}\); the checkpoint of update 3 is whole\. The same"
        with pytest.raises(RunError, match=rule) as raised:
            start(reversal, run)
        assert "\n" not in str(raised.value)
        monkeypatch.setattr(CheckpointStore, "write", write)
        with pytest.raises(RunError, match=rf"run.*{FULL}"):  # it is still full
            start(reversal, run)
        store = CheckpointStore(run / "checkpoints")
        assert store.read("step-00000003").state["step"] == 3  # by its checksums
        assert sorted(path.name for path in store.folder.iterdir()) == ["index.json", "step-00000003"]
        disk.free()
        assert start(reversal, run) == 0
        demand_equal(run, short_run, "step-00000006")
    finally:
        disk.close()


def test_a_disk_that_fills_at_one_place_after_the_other(
    reversal: Path, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SmallDisk(tmp_path / "disk", mount=False)
    run = disk.folder / "run"
    try:
        for owner, name in (
            (RunFolder, "write_recipe"),
            (Preprocessor, "save"),
            (CheckpointStore, "write_index"),
            (RunFolder, "append_metrics"),
        ):
            with monkeypatch.context() as patch:
                fill_before(patch, disk, owner, name)
                with pytest.raises(ProjectError, match=FULL) as raised:
                    start(reversal, run)
            disk.free()
            assert str(run) in str(raised.value) and "\n" not in str(raised.value)
        assert start(reversal, run) == 0
        demand_equal(run, short_run, "step-00000006")
        assert not [path for path in run.rglob(".*") if path.name.endswith(".writing")]
    finally:
        disk.close()


def fill_before(patch: pytest.MonkeyPatch, disk: SmallDisk, owner: type, name: str) -> None:
    """Fills a disk right before something is written."""
    write = getattr(owner, name)

    def write_on_a_full_disk(*arguments: Any, **options: Any) -> Any:
        disk.fill(spare=50)
        return write(*arguments, **options)

    patch.setattr(owner, name, write_on_a_full_disk)


def exhausted(*_: Any, **__: Any) -> None:
    raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor\nwith shape [1,2]")


def test_memory_that_does_not_suffice_says_which_batch_and_what_to_lower(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_step.TrainingModel, "fit", exhausted)
    # All rows have 3 to 6 positions of target, and as many of source: a budget of 50 is at most 16 pairs.
    rule = (
        r"^out of memory after update 0, at a batch of (8|9|1\d) pairs, padded to [3-6] source and [3-6] "
        r"target pieces: lower training\.batch_tokens \(now 50\) or data\.max_source_length \(256\) and "
        r"data\.max_target_length \(256\) or set training\.loss_chunk to 1024, "
        r"or have it taken in pieces with training\.micro_batch_tokens \(now null\); "
        r"TensorFlow says: OOM when all"
    )
    with pytest.raises(RunError, match=rule):
        start(reversal, tmp_path / "run", "training.batch_tokens=50", "training.loss_chunk=null")


def test_memory_that_does_not_suffice_for_validation_says_so(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TranslationEvaluator, "quick", exhausted)
    rule = r"^out of memory in the validation of update 3: lower evaluation\.beam \(now 2\) or data\.max_sou"
    with pytest.raises(RunError, match=rule):
        start(reversal, tmp_path / "run", "evaluation.beam=2")


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
