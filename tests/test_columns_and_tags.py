"""Sources of two columns, and a tag that decides the answer: learnt, answered, exported, never forged."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from trainings import Crash, after_update, crash, demand_equal, start

from tf_transformer.build import load
from tf_transformer.cli import main
from tf_transformer.data.source_lines import split_untagged
from tf_transformer.errors import RecipeError
from tf_transformer.manifest import read_manifest

RECIPE = """\
task: translate
data:
  train:
  - {table: forth.tsv, columns: {source: [one, other], target: answer}, tag: forth}
  - {table: back.tsv, columns: {source: [one, other], target: answer}, tag: back}
  dev: {fraction: 0.03}
  test:
    forth: {table: forth_test.tsv, columns: {source: [1, 2], target: 3}, tag: forth}
    back: {table: back_test.tsv, columns: {source: [1, 2], target: 3}, tag: back}
text: {tokenizer: words}
model: {num_layers: 1, hidden_dim: 64, intermediate_dim: 128, num_heads: 4, dropout: 0.0}
training:
  steps: 500
  batch_tokens: 1200
  precision: float32
  label_smoothing: 0.0
  schedule: {name: cosine, peak: 0.005, warmup_steps: 60}
  validate_every: 250
  keep: 2
decoding: {beam: 2}
evaluation: {samples: 2}
"""


def write_joins(folder: Path) -> Path:
    """Writes a recipe, and pairs of words with what they are together: one and other, or other and one.

    Neither column says the answer, nor do both without the place where one ends; and the same pair has
    another answer under the other tag.
    """
    draw, seen = random.Random(3), set()
    for name, count in (("", 2500), ("_test", 100)):
        tables: dict[str, list[str]] = {"forth": [], "back": []}
        while len(tables["forth"]) < count:
            one, other = (draw.choices("abcdefgh", k=draw.randint(1, 3)) for _ in range(2))
            pair = " ".join(one), " ".join(other)
            if one == other or pair in seen:
                continue
            seen.add(pair)
            tables["forth"].append("\t".join([*pair, f"{pair[0]} {pair[1]}"]))
            tables["back"].append("\t".join([*pair, f"{pair[1]} {pair[0]}"]))
        for tag, rows in tables.items():
            header = [] if name else ["one\tother\tanswer"]
            (folder / f"{tag}{name}.tsv").write_text("\n".join([*header, *rows]) + "\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder / "recipe.yaml"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipe, with its data beside it."""
    return write_joins(tmp_path_factory.mktemp("joins"))


@pytest.fixture(scope="module")
def run(recipe: Path) -> Path:
    """A run that has learnt it."""
    run = recipe.parent / "run"
    assert start(recipe, run) == 0
    return run


@pytest.fixture(scope="module")
def exported(run: Path) -> Path:
    """Its export, verified in a clean process."""
    folder = run.parent / "exported"
    assert main(["export", str(run), str(folder), "--quiet"]) == 0
    return folder


def test_both_columns_and_the_tag_are_needed_and_used(run: Path) -> None:
    metrics = json.loads((run / "results.json").read_text())["metrics"]
    assert metrics["test_exact_match"] > 95 and metrics["test_back_exact_match"] > 95
