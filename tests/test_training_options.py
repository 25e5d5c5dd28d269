"""Options of training on real runs: what each does, and that with all of them a run continues exactly."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import trainings
from trainings import Crash, after_update, crash, demand_equal, metrics

from tf_transformer.build import load_run
from tf_transformer.callbacks.checkpointing import raw_weights
from tf_transformer.checkpoints import Checkpoint, CheckpointStore
from tf_transformer.evaluation.teacher_forced import TeacherForced

SMALL = (
    "model.num_layers=1",
    "model.hidden_dim=16",
    "model.intermediate_dim=32",
    "model.num_heads=2",
    "model.dropout=0.3",
    "training.batch_tokens=3000",  # nine updates an epoch
    "training.steps=14",
    "training.validate_every=4",
    "training.checkpoint_every=4",
    "training.schedule.warmup_steps=5",
    "decoding.beam=1",
)
OPTIONS = (
    "text.tokenizer=sentencepiece",
    "text.byte_fallback=false",
    "training.subword_sampling={alpha: 0.3}",
    "training.r_drop=2",
    "training.ema=0.8",
    "training.keep=2",
    "training.average=2",
    "training.average_by=best",
)


def start(recipe: Path, run: Path, *overrides: str) -> int:
    """Trains a small model in this process."""
    return trainings.start(recipe, run, *SMALL, *overrides)


@pytest.fixture(scope="module")
def undisturbed(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run with every option on, that nothing stopped."""
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    assert start(reversal, run, *OPTIONS) == 0
    return run


def test_a_run_with_every_option_continues_bit_by_bit(
    reversal: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    after_update(monkeypatch, 11, crash)  # between two checkpoints, in the second epoch
    with pytest.raises(Crash):
        start(reversal, run, *OPTIONS)
    assert start(reversal, run, *OPTIONS) == 0
    demand_equal(run, undisturbed, "step-00000014", "average")


def test_the_moving_average_is_validated_and_answers(undisturbed: Path) -> None:
    steps = CheckpointStore(undisturbed / "checkpoints").index().kept
    losses = {row["step"]: row["val_loss"] for row in metrics(undisturbed)}
    for step in steps:
        loaded = load_run(undisturbed, str(step))
        dev = loaded.problem.dev_sets(loaded.problem.read(), loaded.task.side)[0]
        smoothing = loaded.recipe.training.label_smoothing
        found = TeacherForced(loaded.task.model, smoothing)(dev.batches)
        assert found["loss"] == pytest.approx(losses[step], rel=1e-5)
        raw = raw_weights(CheckpointStore(undisturbed / "checkpoints").read(f"step-{step:08d}"))
        assert any((raw[weight.path] != weight.numpy()).any() for weight in loaded.task.model.weights)


def test_the_best_checkpoints_are_kept_and_averaged(undisturbed: Path) -> None:
    store = CheckpointStore(undisturbed / "checkpoints")
    bleu = {row["step"]: row["val_bleu"] for row in metrics(undisturbed)}
    assert list(bleu) == [4, 8, 12, 14]
    best = sorted(sorted(bleu, key=lambda step: (bleu[step], step))[-2:])
    assert store.index().kept == best
    assert store.read("average").state["averaged"] == best


def test_a_moving_average_may_begin_and_end_midway(
    undisturbed: Path, reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_more(run: Path, step: int, *overrides: str) -> Checkpoint:
        """Trains up to an update and no further."""
        after_update(monkeypatch, step + 1, crash)  # before it is saved
        with pytest.raises(Crash):
            start(reversal, run, *OPTIONS, "training.steps=99", "training.checkpoint_every=1", *overrides)
        found, _ = CheckpointStore(run / "checkpoints").newest()
        assert found is not None
        assert found.state["step"] == step
        return found

    with_average = one_more(shutil.copytree(undisturbed, tmp_path / "with"), 15)
    run = shutil.copytree(undisturbed, tmp_path / "without")
    without = one_more(run, 15, "training.ema=null")
    assert not any(name.startswith("raw/") for name in without.training)
    for path, weight in raw_weights(with_average).items():  # training itself knows nothing of averages
        np.testing.assert_array_equal(without.weights[path], weight)
    begun = one_more(run, 16)
    for path, weight in raw_weights(begun).items():
        expected = without.weights[path] * (17 / 26) + weight * (9 / 26)
        np.testing.assert_allclose(begun.weights[path], expected, atol=1e-7)


PLATEAU = (
    "training.validate_every=2",
    "training.steps=16",
    "training.schedule={name: reduce_on_plateau, peak: 0.002, warmup_steps: 3, patience: 1, rise: 1.25}",
    "training.early_stopping={metric: loss, patience: 9}",
)


def test_a_rate_that_follows_validation_continues_bit_by_bit(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, run = tmp_path / "whole", tmp_path / "run"
    given = [setting for setting in SMALL if "schedule" not in setting]
    assert trainings.start(reversal, whole, *given, *PLATEAU) == 0
    after_update(monkeypatch, 11, crash)
    with pytest.raises(Crash):
        trainings.start(reversal, run, *given, *PLATEAU)
    assert trainings.start(reversal, run, *given, *PLATEAU) == 0
    demand_equal(run, whole, "step-00000016")
    losses = [row["val_loss"] for row in metrics(whole)]
    rates = [row["learning_rate"] for row in metrics(whole)]
    # The rate of an update is the one that the validation before it left.
    factor, best = 1.0, losses[0]
    for row, (loss, rate) in enumerate(zip(losses, rates, strict=True)):
        assert rate == pytest.approx(0.002 * factor * min(1.0, 2 * (row + 1) / 3), rel=1e-5)
        if row:
            factor = min(1.25 * factor, 4.0) if loss < best else 0.5 * factor
        best = min(best, loss)
    kinds = {line["event"] for line in trainings.events(whole)}
    assert kinds >= {"rate raised"}
