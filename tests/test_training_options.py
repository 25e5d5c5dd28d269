"""Options of training on real runs: what each does, and that with all of them a run continues exactly."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.build import load_run
from tf_transformer.callbacks.advance import Advance
from tf_transformer.callbacks.checkpointing import raw_weights
from tf_transformer.checkpoints import Checkpoint, CheckpointStore
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.run_folder import RunFolder
from tf_transformer.trainer import train

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
TIMING = ("seconds", "target_tokens_per_second", "source_tokens_per_second")


def start(recipe: Path, run: Path, *overrides: str) -> int:
    """Trains in this process, quietly."""
    return train(with_files(load_recipe(recipe, [*SMALL, *overrides]), recipe.parent), run, quiet=True)


def metrics(run: Path) -> list[dict[str, Any]]:
    """The validations of a run without what a clock measured."""
    rows = RunFolder.open(run).metrics()
    return [{name: value for name, value in row.items() if name not in TIMING} for row in rows]


def after_update(monkeypatch: pytest.MonkeyPatch, step: int, act: Callable[[], None]) -> None:
    """Does something once, right after an update was counted."""
    count = Advance.on_train_batch_end

    def counted(self: Advance, batch: int, logs: Any = None) -> None:
        count(self, batch, logs)
        if self.state.step == step:
            monkeypatch.setattr(Advance, "on_train_batch_end", count)
            act()

    monkeypatch.setattr(Advance, "on_train_batch_end", counted)


def die() -> None:
    """Stands for a process that dies between two updates."""
    raise KeyboardInterrupt


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

    after_update(monkeypatch, 11, die)  # between two checkpoints, in the second epoch
    with pytest.raises(KeyboardInterrupt):
        start(reversal, run, *OPTIONS)
    assert start(reversal, run, *OPTIONS) == 0
    assert metrics(run) == metrics(undisturbed)
    ours, theirs = (
        CheckpointStore(path / "checkpoints").read("step-00000014") for path in (run, undisturbed)
    )
    for mine, its in ((ours.weights, theirs.weights), (ours.training, theirs.training)):
        assert mine.keys() == its.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], its[name], err_msg=name)
    assert ours.state["best"] == theirs.state["best"]


def test_the_moving_average_is_validated_and_answers(undisturbed: Path) -> None:
    results = json.loads((undisturbed / "results.json").read_text())
    name = results["checkpoint"]
    checkpoint = CheckpointStore(undisturbed / "checkpoints").read(name)
    row = next(row for row in metrics(undisturbed) if row["step"] == checkpoint.state["step"])
    # Measured while training on the averages themselves; when it ended, on those of the file.
    assert results["metrics"]["val_loss"] == pytest.approx(row["val_loss"], rel=1e-6)
    raw = raw_weights(checkpoint)
    for weight in load_run(undisturbed, "best").task.model.weights:
        np.testing.assert_array_equal(weight.numpy(), checkpoint.weights[weight.path])
    assert any((raw[path] != checkpoint.weights[path]).any() for path in raw)


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
        after_update(monkeypatch, step + 1, die)  # before it is saved
        with pytest.raises(KeyboardInterrupt):
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
