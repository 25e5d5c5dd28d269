"""One batch learnt by heart, whatever the task."""

from pathlib import Path

import made_up
import numpy as np
import pytest

from tf_transformer.diagnosis.one_batch import overfit_one_batch
from tf_transformer.recipe import load_recipe

MODEL = "model: {num_layers: 1, hidden_dim: 16, intermediate_dim: 16, num_heads: 2, dropout: 0.2}\n"
TRAINING = "training: {steps: 100, precision: float32, schedule: {name: constant, peak: 0.01}}\n"


def test_a_task_that_the_package_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up.register(monkeypatch)
    overrides = ("training.label_smoothing=0", "training.schedule.peak=1")  # its model is a linear one
    seen = overfit_one_batch(load_recipe(made_up.write(tmp_path), overrides))
    assert seen.signs == [] and (seen.rows, seen.of, seen.row) == (25, 25, "point")
    assert seen.floor is not None and seen.floor.labels == 25


def write(folder: Path, task: str) -> Path:
    """A recipe of a task, with as little data as will do."""
    draw = np.random.default_rng(3)
    if task == "generate":
        (folder / "data.txt").write_text("so it goes, and so it will go on.\n" * 60)
        data = "{train: {text: data.txt}, dev: {text: data.txt}, window: 20}\ntext: {tokenizer: characters}"
    elif task == "classify_text":
        rows = [f"{' '.join(draw.choice(list('abcd'), 5))}\t{'xy'[number % 2]}" for number in range(60)]
        (folder / "data.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
        data = "{train: {table: data.tsv}, dev: {table: data.tsv}}\ntext: {tokenizer: words}"
    else:
        images = draw.integers(0, 256, (40, 4, 4), "uint8")
        np.savez(folder / "data.npz", images=images, labels=list("ab" * 20))
        data = "{train: {arrays: data.npz}, dev: {arrays: data.npz}}"
    path = folder / "recipe.yaml"
    path.write_text(f"task: {task}\ndata: {data}\n{MODEL}{TRAINING}")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("task", ["generate", "classify_text", "classify_images"])
def test_a_batch_of_each_task_is_learnt(task: str, tmp_path: Path) -> None:
    seen = overfit_one_batch(load_recipe(write(tmp_path, task)))
    assert seen.signs == [] and len(seen.attempts) == 1
