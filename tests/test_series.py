"""Classification of made series of vectors: learnt from files, padded, answered as a run and as an export."""

import json
from pathlib import Path

import numpy as np
import pytest
from trainings import start

from tf_transformer.build import load_run
from tf_transformer.cli import main
from tf_transformer.errors import DataError

RECIPE = """\
task: classify_vectors
data:
  train: {folder: train}
  dev: {arrays: dev.npz, lengths: sizes}
  test: {table: test.tsv}
  max_length: 24
model:
  num_layers: 1
  hidden_dim: 32
  intermediate_dim: 64
  num_heads: 4
  pooling: [mean, attention]
training:
  steps: 160
  batch_size: 32
  precision: float32
  schedule: {name: cosine, peak: 0.004, warmup_steps: 20}
  class_weights: balanced
  validate_every: 80
"""
KINDS = ("noise", "sine", "square")


def series(count: int, seed: int) -> tuple[list[np.ndarray], list[str]]:
    """Series of 8 to 30 vectors: a wave, or none, far from zero, and a feature that means nothing."""
    draw = np.random.default_rng(seed)
    found, labels = [], []
    for number in range(count):
        kind, length = KINDS[number % 3], int(draw.integers(8, 31))
        angle = np.arange(length) * draw.uniform(0.4, 0.8) + draw.uniform(0, 6)
        waves = {"sine": np.sin(angle), "square": np.sign(np.sin(angle)), "noise": draw.normal(size=length)}
        found.append(np.stack([5000 + 300 * waves[kind], draw.normal(size=length)], axis=1).astype("float32"))
        labels.append(kind)
    return found, labels


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe and its series, in each of the forms that a recipe may name."""
    top = tmp_path_factory.mktemp("series")
    for number, (one, label) in enumerate(zip(*series(480, 1), strict=True)):
        (top / "train" / label).mkdir(parents=True, exist_ok=True)
        np.save(top / "train" / label / f"{number}.npy", one)
    several, labels = series(60, 2)
    padded = np.full((60, 30, 2), np.nan, "float32")
    for row, one in enumerate(several):
        padded[row, : len(one)] = one
    np.savez(top / "dev.npz", vectors=padded, labels=labels, sizes=[len(one) for one in several])
    lines = ["file\tlabel"]
    (top / "files").mkdir()
    for number, (one, label) in enumerate(zip(*series(60, 3), strict=True)):
        np.savetxt(top / "files" / f"{number}.csv", one, delimiter=",", header="height,other", comments="")
        lines.append(f"files/{number}.csv\t{label}")
    (top / "test.tsv").write_text("\n".join(lines) + "\n")
    (top / "recipe.yaml").write_text(RECIPE)
    return top


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """A trained run."""
    assert start(folder / "recipe.yaml", folder / "run") == 0
    return folder / "run"


def test_it_learns(run: Path) -> None:
    metrics = json.loads((run / "results.json").read_text())["metrics"]
    assert metrics["test_accuracy"] >= 0.9 and metrics["val_accuracy"] >= 0.9, metrics


def test_answers_of_files_and_of_arrays(folder: Path, run: Path) -> None:
    task = load_run(run).task
    assert task.side.features == 2 and task.side.max_length == 24 and task.labels == KINDS
    files = [folder / "files" / f"{number}.csv" for number in range(7)]
    arrays = series(60, 3)[0][:7]
    from_files, from_arrays = task.answers(files), task.answers(arrays)
    assert [answer.label for answer in from_files] == task.classify(files)
    for one, other in zip(from_files, from_arrays, strict=True):
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-4)
    alone = task.answers(arrays[:1])[0]
    np.testing.assert_allclose(alone.probabilities, from_arrays[0].probabilities, atol=1e-5)
    with pytest.raises(DataError, match=r"sequence 2 has 3 features, and all must have 2"):
        task.classify([arrays[0], np.ones((4, 3), "float32")])
    assert task.classify([]) == []


def test_the_export_answers_as_the_run(
    folder: Path, run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(run), str(tmp_path / "out")]) == 0
    manifest = json.loads((tmp_path / "out" / "1" / "manifest.json").read_text())
    assert manifest["features"] == 2 and manifest["verification"]["equal"]
    lines = [str(folder / "files" / f"{number}.csv") for number in range(5)]
    (tmp_path / "short.csv").write_text("height,other\n")
    (tmp_path / "in.txt").write_text("\n".join([*lines, str(tmp_path / "short.csv"), ""]))
    capfd.readouterr()
    outputs = []
    for model in (run, tmp_path / "out"):
        assert main(["predict", str(model), "--input", str(tmp_path / "in.txt"), "--quiet"]) == 1
        shown = capfd.readouterr()
        outputs.append(shown.out)
        assert "1 line of 6 have no answer: line 6: " in shown.err and "the table has no rows" in shown.err
    assert outputs[0] == outputs[1] and outputs[0].split("\n")[:-2] == load_run(run).task.classify(lines)
    assert main(["evaluate", str(tmp_path / "out"), "--folder", str(folder / "train"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["metrics"]["accuracy"] > 0.9


def test_sequences_that_lose_their_end_are_counted(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for length in (24, 25, 60):
        np.save(tmp_path / f"{length}.npy", np.ones((length, 2), "float32"))
    (tmp_path / "in.txt").write_text("".join(f"{tmp_path / name}.npy\n" for name in ("24", "25", "60")))
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt")]) == 0
    shown = capfd.readouterr()
    assert "the end of 2 sequences was not read" in shown.err and shown.out.count("\n") == 3


def test_inspect_shows_vectors(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(folder / "recipe.yaml"), "--rows", "1"]) == 0
    shown = capfd.readouterr().out
    assert "padding: " in shown and "unknown pieces" not in shown
    assert "vectors of 2 features, padded to" in shown
