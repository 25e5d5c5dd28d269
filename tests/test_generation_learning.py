"""Text that can only be continued by looking back is learnt; training goes on bit by bit after a crash."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from trainings import Crash, after_update, crash, demand_equal, start

from tf_transformer.build import load_run

LETTERS = "abcdefgh"
RECIPE = """\
task: generate
data:
  train: {text: train.txt}
  dev: {text: dev.txt}
  test: {text: test.txt}
  window: 32
model: {num_layers: 2, hidden_dim: 48, intermediate_dim: 96, num_heads: 4, dropout: 0.0}
training:
  steps: 700
  batch_tokens: 2048
  precision: float32
  optimizer: {name: adam, beta_2: 0.98}
  schedule: {name: linear, peak: 0.006, warmup_steps: 100}
  validate_every: 350
  checkpoint_every: 30
evaluation: {samples: 2}
"""


def word(draw: random.Random) -> str:
    return "".join(draw.choices(LETTERS, k=4))


def write(folder: Path) -> Path:
    """A recipe, and words of four letters, each said twice: the second time nothing is left to chance."""
    draw = random.Random(3)
    for name, count in (("train", 20_000), ("dev", 100), ("test", 200)):
        (folder / f"{name}.txt").write_text("".join(f"{w}-{w}\n" for w in (word(draw) for _ in range(count))))
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder / "recipe.yaml"


@pytest.fixture(scope="module")
def echo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("echo")
    assert start(write(folder), folder / "run") == 0
    return folder / "run"


def test_what_is_left_to_chance_is_all_that_a_character_costs(echo_run: Path) -> None:
    metrics = json.loads((echo_run / "results.json").read_text())["metrics"]
    least = 4 * 2.0794 / 10  # four letters of ten characters, ln 8 each
    assert least * 0.99 < metrics["test_nats_per_character"] < least * 1.03


def test_words_are_repeated_in_texts_that_outgrow_the_window(echo_run: Path) -> None:
    task: Any = load_run(echo_run).task
    draw = random.Random(7)
    words = [word(draw) for _ in range(50)]
    repeated = task.generate([f"{w}-" for w in words], max_length=5)
    assert sum(text == f"{w}\n" for w, text in zip(words, repeated, strict=True)) >= 49
    long = task.generate([""], max_length=400, seed=3)[0]
    lines = long.split("\n")[1:-1]
    assert len(lines) > 35
    assert sum(line[:4] == line[5:] for line in lines) >= 0.95 * len(lines)
    assert len(set(lines)) > 30
    # A stream is the same text.
    assert "".join(task.stream("", max_length=400, seed=3)) == long


def test_it_continues_bit_by_bit(echo_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = (
        "training.steps=60",
        "training.schedule.warmup_steps=10",
        "training.validate_every=20",
        "training.batch_tokens=300",
        "model.dropout=0.1",
        "model.num_layers=1",
        "data.train=[{text: dev.txt, weight: 1.5}, {text: test.txt, weight: 0.25}]",
    )
    recipe = echo_run.parent / "recipe.yaml"
    monkeypatch.chdir(recipe.parent)
    assert start(recipe, tmp_path / "whole", *short) == 0
    after_update(monkeypatch, 47, crash)
    with pytest.raises(Crash):
        start(recipe, tmp_path / "torn", *short)
    assert start(recipe, tmp_path / "torn", *short) == 0
    demand_equal(tmp_path / "whole", tmp_path / "torn", "step-00000060")
