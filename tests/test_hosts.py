"""Two hosts train what one does; one that dies is waited for, and the pair goes on as if nothing had been."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trainings import demand_equal, events, metrics, start

from tf_transformer.checkpoints import CheckpointStore

ROOT = Path(__file__).parents[1]
SMALL = (
    "model.hidden_dim=16",
    "model.intermediate_dim=32",
    "training.batch_tokens=700",
    "training.schedule.warmup_steps=10",
    "decoding.beam=1",
)


def command(recipe: Path, run: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "tf_transformer", "train", str(recipe), *SMALL, *words, "--run", str(run)]


def begin(words: list[str], **environment: str) -> subprocess.Popen[str]:
    given = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", **environment}
    given["TF_CPP_MIN_LOG_LEVEL"] = "3"
    return subprocess.Popen(words, cwd=ROOT, env=given, stderr=subprocess.PIPE, text=True)


class Pair:
    """Two hosts on one machine, each a process; only the first one's run folder may come to be.

    Args:
        recipe: What they train.
        folder: Where the run of each is named to be.
        words: More of the command.
    """

    def __init__(self, recipe: Path, folder: Path, *words: str) -> None:
        self.recipe = recipe
        self.runs = [folder / "chief", folder / "other"]
        self.words = words

    @property
    def run(self) -> Path:
        """The chief's run."""
        return self.runs[0]

    def begin(self) -> list[subprocess.Popen[str]]:
        """Starts both, or goes on with both."""
        with socket.create_server(("localhost", 0)) as one, socket.create_server(("localhost", 0)) as other:
            hosts = [f"localhost:{server.getsockname()[1]}" for server in (one, other)]

        def config(index: int) -> str:
            return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})

        return [
            begin(command(self.recipe, run, *self.words), TF_CONFIG=config(index))
            for index, run in enumerate(self.runs)
        ]

    def finish(self) -> list[str]:
        """Trains to the end; what each host has said."""
        processes = self.begin()
        said = [process.communicate(timeout=600)[1] for process in processes]
        assert [process.returncode for process in processes] == [0, 0], said
        assert not self.runs[1].exists()
        return said

    def kill(self, victim: int, step: int) -> str:
        """Kills one of them once there is a checkpoint; what the other says."""
        processes = self.begin()
        while not (self.run / "checkpoints" / f"step-{step:08d}").exists():
            assert [process.poll() for process in processes] == [None, None]
            time.sleep(0.01)
        processes[victim].kill()
        said = [process.communicate(timeout=600)[1] for process in processes]
        assert processes[victim].returncode == -signal.SIGKILL
        assert processes[1 - victim].returncode == 1
        return said[1 - victim]


def losses(run: Path) -> list[float]:
    """The training loss between two validations, and that of dev, over the updates."""
    return [row[name] for row in metrics(run) for name in ("loss", "val_loss")]


def last_weights(run: Path, steps: int) -> np.ndarray[Any, Any]:
    """All weights that the loss depends on."""
    found = CheckpointStore(run / "checkpoints").read(f"step-{steps:08d}").weights
    # The bias of keys moves all scores of a query alike: its gradient is rounding, of which Adam makes steps.
    return np.concatenate([found[path].reshape(-1) for path in sorted(found) if "key_bias" not in path])


def demand_same_curves(reversal: Path, folder: Path, steps: int, every: int) -> float:
    """Demands that one process, two devices and two hosts have the same losses; the largest difference."""
    words = (f"training.steps={steps}", f"training.validate_every={every}")
    runs = [folder / "one", folder / "two"]
    assert start(reversal, runs[0], *SMALL, *words) == 0
    two = begin(
        command(reversal, runs[1], *words, "training.devices=cpu:2", "training.micro_batch_tokens=300")
    )
    pair = Pair(reversal, folder, *words)
    said = pair.finish()
    errors = two.communicate(timeout=600)[1]
    assert two.returncode == 0, errors
    assert "on 2 CPUs" in errors and "on 2 hosts with 1 CPU each" in said[0]
    assert "update" not in said[1]  # the chief speaks for both
    expected = np.array(losses(runs[0]))
    assert len(expected) == 2 * steps // every
    apart = [np.abs(np.array(losses(run)) / expected - 1).max() for run in (runs[1], pair.run)]
    assert max(apart) < 1e-4
    for run in (runs[1], pair.run):
        np.testing.assert_allclose(last_weights(run, steps), last_weights(runs[0], steps), atol=1e-3)
    return float(max(apart))


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "every"), [(12, 4), (200, 1)])
def test_one_process_two_devices_and_two_hosts_learn_the_same(
    reversal: Path, tmp_path: Path, figure: Callable[[str], None], steps: int, every: int
) -> None:
    apart = demand_same_curves(reversal, tmp_path, steps, every)
    figure(f"losses of {steps} updates at most {apart:.1e} apart")


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1], ids=["chief", "other"])
def test_a_pair_of_which_one_was_killed_goes_on_as_if_it_had_not(
    reversal: Path, tmp_path: Path, victim: int
) -> None:
    words = (
        "model.dropout=0.2",
        "training.steps=60",
        "training.validate_every=20",
        "training.checkpoint_every=5",
        "training.micro_batch_tokens=300",
    )
    undisturbed, killed = (Pair(reversal, tmp_path / name, *words) for name in ("one", "other"))
    undisturbed.finish()
    said = killed.kill(victim, 25)
    assert "hosts has gone, and the training has stopped. The same command on all of them continues" in said
    killed.finish()
    demand_equal(killed.run, undisturbed.run, "step-00000060")


@pytest.mark.slow
def test_a_signal_to_one_host_stops_both_and_saves(reversal: Path, tmp_path: Path) -> None:
    words = ("training.steps=5000", "training.validate_every=5000", "training.checkpoint_every=5")
    pair = Pair(reversal, tmp_path, *words)
    processes = pair.begin()
    while not (pair.run / "checkpoints" / "step-00000010").exists():
        assert [process.poll() for process in processes] == [None, None]
        time.sleep(0.01)
    processes[1].send_signal(signal.SIGTERM)
    said = [process.communicate(timeout=600)[1] for process in processes]
    assert [process.returncode for process in processes] == [143, 143], said
    assert "interrupted at update" in said[0]


@pytest.mark.slow
def test_more_devices_midway_go_on_at_the_same_place(reversal: Path, tmp_path: Path) -> None:
    words = ("training.steps=10", "training.validate_every=5")
    run, alone = tmp_path / "run", tmp_path / "alone"
    assert start(reversal, run, *SMALL, *words) == 0
    more = ("training.steps=20", "training.validate_every=5", "training.devices=cpu:2")
    process = begin(command(reversal, run, *more))
    errors = process.communicate(timeout=600)[1]
    assert process.returncode == 0, errors
    assert "continuing at update 10" in errors
    assert [row["detail"] for row in events(run) if row["event"] == "other devices"] == [
        "2 in place of 1, at update 10"
    ]
    assert start(reversal, alone, *SMALL, *more[:2]) == 0
    np.testing.assert_allclose(losses(run), losses(alone), rtol=1e-4)


@pytest.mark.slow
def test_a_host_that_is_missing_is_named(reversal: Path, tmp_path: Path) -> None:
    config = {"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 1}}
    process = begin(command(reversal, tmp_path / "run", "--wait", "1"), TF_CONFIG=json.dumps(config))
    errors = process.communicate(timeout=120)[1]
    assert process.returncode == 1
    assert errors.splitlines()[-1] == (
        "host 0 (localhost:1) is missing: 2 hosts were to come within 1 seconds (--wait). The same command "
        "must run on each of them"
    )
    assert not (tmp_path / "run").exists()
