"""Classification of made pictures: it learns, continues bit by bit, and answers as a run and as an export."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from shapes import SHAPES, pictures, write_folder
from trainings import Crash, after_update, crash, demand_equal, start

from tf_transformer.build import load_run
from tf_transformer.cli import main

RECIPE = """\
task: classify_images
data:
  train: {arrays: train.npz}
  dev: {fraction: 0.1}
  test: {folder: test}
model:
  num_layers: 2
  hidden_dim: 32
  intermediate_dim: 64
  num_heads: 4
  patch_size: 4
  stem: [8, 16, 32]
  class_token: true
  pooling: [first, mean]
  dropout: 0.0
training:
  steps: 320
  batch_size: 32
  precision: float32
  optimizer: {name: adamw, weight_decay: 0.02}
  schedule: {name: cosine, peak: 0.004, warmup_steps: 40}
  label_smoothing: 0.05
  ema: 0.95
  validate_every: 160
  checkpoint_every: 160
  augmentation: {shift: 0.1, zoom: 0.05, elastic: 0.01, brightness: 0.1}
evaluation: {samples: 3}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe and its pictures."""
    top = tmp_path_factory.mktemp("pictures")
    images, labels, _ = pictures(640, seed=1)
    np.savez(top / "train.npz", images=images[..., 0], labels=labels)
    images, labels, _ = pictures(200, seed=2)
    write_folder(top / "test", images, labels)
    (top / "recipe.yaml").write_text(RECIPE)
    return top


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """A trained run."""
    assert start(folder / "recipe.yaml", folder / "run") == 0
    return folder / "run"


def test_it_learns(run: Path) -> None:
    results = json.loads((run / "results.json").read_text())
    assert results["metrics"]["test_accuracy"] >= 0.95, results["metrics"]
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert [row["step"] for row in rows] == [160, 320] and rows[1]["examples_per_second"] > 0
    sample = (run / "samples" / "step-00000320.txt").read_text()
    assert "row " in sample and any(shape in sample for shape in SHAPES)


def test_a_killed_run_continues_bit_by_bit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = (
        "model.num_layers=1",
        "model.stem=[8, 16]",
        "training.steps=60",
        "training.validate_every=30",
        "training.checkpoint_every=10",
    )
    monkeypatch.setattr("trainings.TIMING", ("seconds", "examples_per_second"))
    assert start(folder / "recipe.yaml", tmp_path / "one", *few) == 0
    after_update(monkeypatch, 43, crash)  # between two checkpoints, in the third epoch
    with pytest.raises(Crash):
        start(folder / "recipe.yaml", tmp_path / "other", *few)
    assert start(folder / "recipe.yaml", tmp_path / "other", *few) == 0
    demand_equal(tmp_path / "one", tmp_path / "other", "step-00000060")


def test_a_line_in_is_a_path_and_a_line_out_its_label(
    folder: Path, run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = sorted((folder / "test").rglob("*.png"))[::40]
    (tmp_path / "broken.png").write_bytes(good[0].read_bytes()[:-30])
    (tmp_path / "large.png").write_bytes(tf.io.encode_png(np.zeros((13, 12, 1), "uint8")).numpy())
    lines = [good[0], tmp_path / "broken.png", good[1], "", tmp_path / "large.png", *good[2:]]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt")]) == 1
    shown = capfd.readouterr()
    answers = iter(load_run(run).task.classify(good))
    expected = [next(answers) if line in good else "" for line in lines]
    assert shown.out.split("\n")[:-1] == expected
    said = shown.err.strip().split("\n")[-1]
    assert (
        said.startswith("3 lines of 8 have no answer: line 2: ") and "broken.png is no whole picture" in said
    )
    assert "line 4: is empty, and must be the path of a file" in said
    assert "large.png is 13 x 12 pixels (height x width), not 12 x 12" in said


def test_a_folder_is_scored_as_the_recipe_s_own(
    folder: Path, run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(run), "--folder", str(folder / "test"), "--json"]) == 0
    metrics = json.loads(capfd.readouterr().out)["metrics"]
    results = json.loads((run / "results.json").read_text())["metrics"]
    assert metrics["accuracy"] == results["test_accuracy"] and metrics["loss"] == results["test_loss"]
    assert main(["evaluate", str(run), "--source", "x", "--target", "y"]) == 2
    assert "is a classifier of pictures" in capfd.readouterr().err


def test_a_label_that_training_has_not_is_named(
    folder: Path, run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    images, labels, _ = pictures(4, seed=3)
    write_folder(tmp_path / "more", images, [*labels[:3], "moon"])
    assert main(["evaluate", str(run), "--folder", str(tmp_path / "more")]) == 1
    said = capfd.readouterr().err.strip().split("\n")[-1]
    assert said.startswith(f"{tmp_path / 'more'}, moon/003.png: the label must be one that training has seen")


def test_the_export_takes_encoded_pictures(
    folder: Path, run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(run), str(tmp_path / "out")]) == 0
    shown = capfd.readouterr()
    manifest = json.loads((tmp_path / "out" / "1" / "manifest.json").read_text())
    assert manifest["task"] == "classify_images" and manifest["labels"] == list(SHAPES)
    assert manifest["verification"]["equal"] and manifest["verification"]["examples"] > 30
    assert "answers verified" in shown.err and manifest["custom_ops"] == []
    signature = tf.saved_model.load(str(tmp_path / "out" / "1")).signatures["serving_default"]
    files = sorted((folder / "test").rglob("*.png"))[::50]
    contents = [file.read_bytes() for file in files]
    task = load_run(run).task
    jpeg = tf.io.encode_jpeg(task.pixels(files)[0], quality=100).numpy()
    found = signature(image=tf.constant([*contents, jpeg]))
    expected = task.answers([*contents, jpeg])
    assert [label.decode() for label in found["label"].numpy()] == [answer.label for answer in expected]
    np.testing.assert_allclose(found["probabilities"], [a.probabilities for a in expected], atol=1e-5)
    large = tf.io.encode_png(np.zeros((12, 13, 1), "uint8")).numpy()
    for bad, rule in ((b"hello", "Unknown image file format"), (large, r"image 2.*must be 12 x 12 pixels")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"(?s){rule}"):
            signature(image=tf.constant([contents[0], bad]))
    _predict_with_export(tmp_path, files, [answer.label for answer in expected[:-1]], capfd)


def _predict_with_export(
    tmp_path: Path, files: list[Path], labels: list[str], capfd: pytest.CaptureFixture[Any]
) -> None:
    (tmp_path / "bad.png").write_text("hello")
    (tmp_path / "in.txt").write_text("".join(f"{file}\n" for file in [*files, tmp_path / "bad.png"]))
    capfd.readouterr()
    assert main(["predict", str(tmp_path / "out"), "--input", str(tmp_path / "in.txt"), "--quiet"]) == 1
    shown = capfd.readouterr()
    assert shown.out.split("\n")[:-1] == [*labels, ""]
    said = [line for line in shown.err.split("\n")[:-1] if "local_rendezvous.cc" not in line]
    assert len(said) == 1 and "bad.png is no whole picture" in said[0]


def test_it_looked_where_the_shape_is(run: Path) -> None:
    images, _, corners = pictures(40, seed=4)
    shares = load_run(run).task.relevance(list(images))
    assert shares.shape == (40, 3, 3)
    np.testing.assert_allclose(shares.sum(axis=(1, 2)), 1.0, atol=1e-5)
    # The patch that holds the middle of the shape weighs more than one in the mean.
    middles = [((row + 2) // 4, (column + 2) // 4) for row, column in corners]
    there = np.mean([share[middle] for share, middle in zip(shares, middles, strict=True)])
    assert there > 1.05 / 9, there


def test_inspect_draws_a_picture(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(folder / "recipe.yaml"), "--rows", "1"]) == 0
    shown = capfd.readouterr().out
    assert "first batch: images [32, 12, 12, 1], labels [32]" in shown or "images [31, 12, 12, 1]" in shown
    assert "  12 x 12 pixels, 1 channel, from " in shown


def test_where_it_looks_and_what_it_confuses_are_drawn(
    folder: Path,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    files = sorted(map(str, (folder / "test").rglob("*.*")))[:3]
    assert main(["plot", "rollout", str(run), *files]) == 0
    assert main(["plot", "confusion", str(run), "--output", "what.svg", "--quiet"]) == 0
    assert capfd.readouterr().out == "run-rollout.png\nwhat.svg\n"
    assert (tmp_path / "run-rollout.png").read_bytes().startswith(b"\x89PNG")
    drawn = (tmp_path / "what.svg").read_text()
    assert "run: test: 200 pictures, accuracy" in drawn and all(shape in drawn for shape in SHAPES)
    assert main(["plot", "rollout", str(run), "gone.png", "--output", "gone.svg"]) == 1
    assert "gone.png" in capfd.readouterr().err and not (tmp_path / "gone.svg").exists()
    assert main(["plot", "rollout", str(run), *files * 22]) == 2
    assert "must be at most 64 on a sheet. Received: 66" in capfd.readouterr().err
