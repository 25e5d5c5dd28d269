"""A small trained run that many tests read: numbers spoken backwards, which copying cannot learn."""

import os
import random
from pathlib import Path
from typing import Any

import pytest

# Models this small gain nothing from threads, and two workers share the cores. Read when TensorFlow starts.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

RECIPE = """\
task: translate
data:
  train: {table: train.tsv}
  dev: {table: dev.tsv}
  test: {table: test.tsv}
text: {tokenizer: words, vocabulary_size: 20}
model: {num_layers: 1, hidden_dim: 64, intermediate_dim: 128, num_heads: 4, dropout: 0.0}
training:
  steps: 600
  batch_tokens: 1000
  precision: float32
  label_smoothing: 0.0
  schedule: {name: inverse_sqrt, peak: 0.005, warmup_steps: 60}
  validate_every: 300
  keep: 2
decoding: {beam: 3}
evaluation: {samples: 2}
"""


def write_reversal(folder: Path) -> Path:
    """Writes a recipe and its data, numbers of 2 to 5 digits and their reversals, all different."""
    folder.mkdir(parents=True, exist_ok=True)
    draw, seen = random.Random(5), set()
    for name, count in (("train", 4600), ("dev", 101), ("test", 97)):
        rows = ["source\ttarget"]
        while len(rows) <= count:
            digits = [draw.choice("0123456789") for _ in range(draw.randint(2, 5))]
            if tuple(digits) not in seen:
                seen.add(tuple(digits))
                rows.append(f"{' '.join(digits)}\t{' '.join(reversed(digits))}")
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe


@pytest.fixture(scope="session")
def reversal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipe of the reversal task, with its data beside it."""
    return write_reversal(tmp_path_factory.mktemp("reversal"))


@pytest.fixture(scope="session")
def trained_run(reversal: Path) -> Path:
    """A run that has learnt to reverse."""
    from tf_transformer.recipe import load_recipe, with_files
    from tf_transformer.trainer import train

    run = reversal.parent / "run"
    assert train(with_files(load_recipe(reversal), reversal.parent), run, quiet=True) == 0
    return run


@pytest.fixture(scope="session")
def translator(trained_run: Path) -> Any:
    """The task of that run; shared, because each way to search is traced once for each task."""
    from tf_transformer.build import load_run

    return load_run(trained_run).task


@pytest.fixture(scope="session")
def reversal_pairs(reversal: Path) -> list[tuple[str, str]]:
    """The test sentences of the reversal task and their translations."""
    rows = (reversal.parent / "test.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    return [(source, target) for source, target in (row.split("\t") for row in rows)]


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers, a file's tests stay together, and all that read the trained run do.

    What they share is then made once.
    """
    for item in items:
        names = getattr(item, "fixturenames", ())
        group = "trained run" if "trained_run" in names else item.path.as_posix()
        item.add_marker(pytest.mark.xdist_group(group))
