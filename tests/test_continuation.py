"""SIGKILL at random moments: the finished run is bit by bit that of one that nothing disturbed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import tensorflow as tf
import witness
from trainings import demand_equal

from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Preprocessor

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
VARIANTS = {
    precision: (f"training.precision={precision}",)
    for precision in ("float32", "mixed_bfloat16", "mixed_float16")
}
VARIANTS["every option"] = (
    "training.precision=mixed_bfloat16",
    "text.tokenizer=sentencepiece",
    "text.vocabulary_size=400",
    "model.norm=deep",
    "training.batch_tokens=6000",
    "training.subword_sampling={alpha: 0.2}",
    "training.r_drop=3",
    "training.ema=0.9",
    "training.average_by=best",
)
VARIANTS["in pieces"] = ("training.precision=mixed_float16", "training.micro_batch_tokens=300")
VARIANTS["two devices"] = (
    "training.precision=float32",
    "training.devices=cpu:2",
    "training.micro_batch_tokens=700",
    "training.ema=0.9",
)
"""Ways to train that must survive kills, as overrides; another way joins the twenty kills by a line here."""


@dataclass
class Kills:
    """What became of the kills."""

    landed: int = 0
    while_writing: int = 0


class KilledRun:
    """One run of the quickstart, started as often as it needs, in processes of their own.

    Args:
        folder: Where the run and the notes of what its updates saw go.
        overrides: What is special about it.
    """

    def __init__(self, folder: Path, overrides: tuple[str, ...]) -> None:
        folder.mkdir()
        self.path, self.notes = folder / "run", folder / "notes.jsonl"
        self.store = self.path / "checkpoints"
        self.overrides = overrides
        self.starts = 0

    def start(self) -> subprocess.Popen[bytes]:
        """Starts it, or goes on."""
        self.starts += 1
        command = [sys.executable, str(ROOT / "tests" / "witness.py"), str(self.notes), str(self.starts)]
        command += ["train", str(QUICKSTART), *SMALL, *self.overrides, "--run", str(self.path), "--quiet"]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE)

    def finish(self) -> None:
        """Trains to the end."""
        process = self.start()
        errors = process.communicate()[1]
        assert process.returncode == 0, errors.decode()

    def kill(self, most: int, draw: random.Random, kills: Kills) -> bool:
        """Kills it again and again; whether that was possible so often before it was complete.

        Every second kill waits until a checkpoint is being written, since that is the moment that must not
        matter and that a clock seldom meets; the others come after a random time of training.
        """
        for number in range(most):
            torn = self._torn()
            process, before = self.start(), self._checkpoints()
            # Each start gets one checkpoint further, so that twenty of them come to an end.
            _wait(process, lambda before=before: bool(self._checkpoints() - before))
            seconds = draw.uniform(0.0, 0.01 if number % 2 else 0.6)
            if number % 2:
                _wait(process, lambda: bool(list(self.store.glob(".step-*.writing"))))
            deadline = time.monotonic() + seconds
            _wait(process, lambda deadline=deadline: time.monotonic() >= deadline)
            ended = process.poll() is not None
            process.kill()
            errors = process.communicate()[1]
            if ended:
                assert process.returncode == 0, errors.decode()
                return False
            assert process.returncode == -signal.SIGKILL
            kills.landed += 1
            kills.while_writing += bool(self._torn() - torn)
        return True

    def _checkpoints(self) -> set[Path]:
        return set(self.store.glob("step-*"))

    def _torn(self) -> set[tuple[str, int]]:
        """What writing has begun and not ended: a checkpoint, or the index of all."""
        return {(path.name, path.stat().st_ino) for path in self.store.glob(".*.writing")}

    def demand_same_as(self, undisturbed: "KilledRun") -> None:
        """Demands equal weights, optimizers, seeds, sums and figures, from the very same batches."""
        demand_equal(self.path, undisturbed.path, "step-00000090", "average")
        results = [RunFolder.open(run.path).results() for run in (self, undisturbed)]
        assert results[0] is not None and results[1] is not None
        assert results[0]["metrics"] == results[1]["metrics"]
        assert self.updates() == undisturbed.updates()
        assert not list(self.store.glob(".step-*"))

    def updates(self) -> dict[int, list[witness.Pair]]:
        """What each update saw."""
        return witness.updates_in(self.notes)

    def demand_each_line_once_an_epoch(self) -> None:
        """Demands that each epoch saw each line of the training text once, and the last one none twice."""
        preprocessor = Preprocessor.load(self.path / "tokenizer")
        rows = [line.split("\t") for line in (QUICKSTART.parent / "train.tsv").read_text().split("\n")[1:-1]]
        sources = preprocessor.encode_source([source for source, _ in rows]).to_list()
        targets = preprocessor.encode_target([target for _, target in rows]).to_list()
        lines = _texts(preprocessor, Counter(zip(map(tuple, sources), map(tuple, targets), strict=True)))
        seen = witness.epochs_in(self.updates(), len(rows))
        *epochs, last = (_texts(preprocessor, pairs) for pairs in seen)
        assert len(epochs) == 2 and all(epoch == lines for epoch in epochs)
        assert last and last <= lines


def _texts(preprocessor: Preprocessor, pairs: Counter[witness.Pair]) -> Counter[tuple[str, str]]:
    """Pairs of ids as text: the same text may be in other pieces each epoch."""
    sources, targets = zip(*pairs.elements(), strict=True)
    sides = (preprocessor.source_tokenizer, sources), (preprocessor.target_tokenizer, targets)
    texts = [tokenizer.detokenize(tf.ragged.constant(ids, tf.int32)).numpy() for tokenizer, ids in sides]
    return Counter((source.decode(), target.decode()) for source, target in zip(*texts, strict=True))


def _wait(process: subprocess.Popen[bytes], happened: Callable[[], bool]) -> None:
    """Waits until something has happened or the process has ended."""
    while process.poll() is None and not happened():
        time.sleep(0.0005)


def test_three_kills_change_nothing(tmp_path: Path, figure: Callable[[str], None]) -> None:
    undisturbed, killed = (KilledRun(tmp_path / name, VARIANTS["float32"]) for name in ("one", "other"))
    undisturbed.finish()
    undisturbed.demand_each_line_once_an_epoch()
    kills = Kills()
    assert killed.kill(3, random.Random(11), kills)
    killed.finish()
    killed.demand_same_as(undisturbed)
    figure(f"{kills.landed} kills, {kills.while_writing} while a checkpoint was written; bit-equal")


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_twenty_kills_change_nothing(tmp_path: Path, variant: str, figure: Callable[[str], None]) -> None:
    seed = 12
    undisturbed = KilledRun(tmp_path / "undisturbed", VARIANTS[variant])
    undisturbed.finish()
    undisturbed.demand_each_line_once_an_epoch()
    draw, kills, runs = random.Random(seed), Kills(), 0
    while kills.landed < 20:  # where a run is complete before the last kill, another one takes the rest
        runs += 1
        killed = KilledRun(tmp_path / f"killed-{runs}", VARIANTS[variant])
        if killed.kill(20 - kills.landed, draw, kills):
            killed.finish()
        killed.demand_same_as(undisturbed)
    figure(
        f"{kills.landed} kills in {runs} run(s), {kills.while_writing} while a checkpoint was written, "
        f"seed {seed}; bit-equal"
    )
