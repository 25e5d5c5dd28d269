"""SIGKILL at random moments: the finished run is bit by bit that of one that nothing disturbed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.run_folder import RunFolder

ROOT = Path(__file__).parents[1]
QUICKSTART = ROOT / "training" / "quickstart" / "recipe.yaml"
SMALL = (
    "text.tokenizer=words",
    "model.num_layers=1",
    "model.hidden_dim=16",
    "model.intermediate_dim=32",
    "model.num_heads=2",
    "model.dropout=0.2",
    "training.batch_tokens=2500",
    "training.steps=90",
    "training.schedule.warmup_steps=20",
    "training.validate_every=30",
    "training.checkpoint_every=4",
    "training.keep=2",
    "training.average=2",
    "decoding.beam=1",
)
TIMING = ("seconds", "target_tokens_per_second", "source_tokens_per_second")


def start(run: Path, *overrides: str) -> subprocess.Popen[bytes]:
    """Starts, or continues, a training in a process of its own."""
    command = [sys.executable, "-m", "tf_transformer", "train", str(QUICKSTART), *SMALL, *overrides]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.Popen(
        [*command, "--run", str(run), "--quiet"], cwd=ROOT, env=environment, stderr=subprocess.PIPE
    )


def finish(run: Path, *overrides: str) -> None:
    """Trains to the end."""
    process = start(run, *overrides)
    errors = process.communicate()[1]
    assert process.returncode == 0, errors.decode()


def kill_at_random(run: Path, kills: int, draw: random.Random, *overrides: str) -> int:
    """Kills the training again and again; returns how often it was killed before it ended.

    Half of the kills wait for the first file of a checkpoint being written, since that is the moment that
    must not matter and that a clock seldom meets; the others come after a random time of training.
    """
    store = run / "checkpoints"
    for number in range(kills):
        process = start(run, *overrides)
        before = set(store.glob("step-*")) if store.exists() else set()
        while process.poll() is None and not (store.exists() and set(store.glob("step-*")) - before):
            time.sleep(0.01)
        deadline = time.monotonic() + draw.uniform(0.0, 0.6)
        while process.poll() is None and time.monotonic() < deadline:
            if number % 2 and list(store.glob(".step-*.writing")):
                break
            time.sleep(0.0005)
        if process.poll() is not None:
            process.communicate()
            return number
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return kills


def compare(run: Path, undisturbed: Path) -> None:
    """Demands equal weights, optimizers, seeds, sums and figures."""
    ours, theirs = (CheckpointStore(path / "checkpoints") for path in (run, undisturbed))
    assert ours.index() == theirs.index()
    for name in ("step-00000090", "average"):
        one, other = ours.read(name), theirs.read(name)
        for mine, its in ((one.weights, other.weights), (one.training, other.training)):
            assert mine.keys() == its.keys()
            for path in mine:
                np.testing.assert_array_equal(mine[path], its[path], err_msg=path)
    rows = [
        [
            {key: value for key, value in row.items() if key not in TIMING}
            for row in RunFolder.open(path).metrics()
        ]
        for path in (run, undisturbed)
    ]
    assert rows[0] == rows[1]
    assert [row["step"] for row in rows[0]] == [30, 60, 90]
    results = [RunFolder.open(path).results() for path in (run, undisturbed)]
    assert results[0] is not None and results[1] is not None
    assert results[0]["metrics"] == results[1]["metrics"]


def test_three_kills_change_nothing(tmp_path: Path) -> None:
    override = "training.precision=float32"
    finish(tmp_path / "undisturbed", override)
    assert kill_at_random(tmp_path / "killed", 3, random.Random(11), override) == 3
    finish(tmp_path / "killed", override)
    compare(tmp_path / "killed", tmp_path / "undisturbed")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_twenty_kills_change_nothing(tmp_path: Path, precision: str) -> None:
    override = f"training.precision={precision}"
    finish(tmp_path / "undisturbed", override)
    draw, kills = random.Random(12), 0
    while kills < 20:
        stopped = kill_at_random(tmp_path / "killed", 20 - kills, draw, override)
        kills += stopped
        if kills < 20:  # it ended before the last kill: once more from the start, the kills add up
            compare(tmp_path / "killed", tmp_path / "undisturbed")
            (tmp_path / "killed").rename(tmp_path / f"killed-{kills}")
    finish(tmp_path / "killed", override)
    compare(tmp_path / "killed", tmp_path / "undisturbed")
