"""Classification of text from recipe to export: what counting words cannot learn, and exact continuation."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from trainings import Crash, after_update, crash, demand_equal, start

from tf_transformer.build import load
from tf_transformer.cli import main
from tf_transformer.errors import DataError
from tf_transformer.manifest import read_manifest

RECIPE = """\
task: classify_text
data:
  train: {table: train.tsv}
  dev: {table: dev.tsv}
  test: {table: test.tsv}
text: {tokenizer: words}
model: {num_layers: 1, hidden_dim: 32, intermediate_dim: 64, num_heads: 4}
training:
  steps: 120
  batch_tokens: 1000
  precision: float32
  schedule: {name: cosine, peak: 0.004, warmup_steps: 20}
  validate_every: 60
evaluation: {samples: 2, leave_out: [y first]}
"""


def write_order(folder: Path) -> Path:
    """Writes a recipe and texts with an x and a y among other letters; the label is which is first."""
    draw = random.Random(7)
    for name, count in (("train", 1500), ("dev", 101), ("test", 97)):
        rows = ["text\tlabel"]
        for _ in range(count):
            letters = draw.choices("abcdef", k=draw.randint(3, 8))
            first, second = draw.sample("xy", 2)
            place, after = sorted(draw.sample(range(len(letters) + 1), 2))
            letters.insert(after, second)
            letters.insert(place, first)
            rows.append(f"{' '.join(letters)}\t{first} first")
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder / "recipe.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learnt which letter is first."""
    recipe = write_order(tmp_path_factory.mktemp("order"))
    run = recipe.parent / "run"
    assert start(recipe, run) == 0
    return run


def test_what_counting_words_cannot_learn_is_learnt(run: Path) -> None:
    metrics = json.loads((run / "results.json").read_text())["metrics"]
    assert metrics["test_accuracy"] > 0.99 and metrics["test_macro_f1"] > 0.99
    assert {"val_loss", "val_ece", "test_ece", "test_loss"} <= set(metrics)
    assert load(run).classify(["a x b y c", "a y b x c"]) == ["x first", "y first"]


def test_lines_are_answered_one_by_one_and_none_is_made_up(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("x a y\n\n \u200b\nb y x\n")
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt")]) == 0
    captured = capsys.readouterr()
    assert captured.out == "x first\n\n\ny first\n"
    assert "line 2: is empty: it has no label" in captured.err
    assert "line 3: has no word: it has no label" in captured.err
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt"), "--json"]) == 0
    first, second, *_ = map(json.loads, capsys.readouterr().out.split("\n")[:-1])
    assert first["label"] == "x first" and sum(first["probabilities"].values()) == pytest.approx(1.0)
    assert second["label"] is None and second["probability"] == 0.0
    assert main(["predict", str(run), "--beam", "2", "--input", str(tmp_path / "in.txt")]) == 2
    assert "--beam: is for translate, and" in capsys.readouterr().err


def test_a_set_is_scored_and_its_confusion_shown(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "test: 97 examples" in shown and "  1  x first" in shown and "  class    precision" in shown
    (tmp_path / "texts").write_text("x y\ny x\n")
    (tmp_path / "labels").write_text("x first\nneither\n")
    words = ["evaluate", str(run), "--source", str(tmp_path / "texts"), "--target", str(tmp_path / "labels")]
    assert main(words) == 1
    assert "labels, line 2: the label must be one that training has seen" in capsys.readouterr().err
    (tmp_path / "labels").write_text("x first\nx first\n")
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["accuracy"] == 0.5


def test_an_export_answers_in_a_clean_process_and_is_scored(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(run), str(tmp_path / "exported")]) == 0
    manifest = read_manifest(tmp_path / "exported" / "1")
    assert manifest.task == "classify_text" and manifest.labels == ("x first", "y first")
    assert manifest.verification["equal"] and manifest.python_modules == ()
    assert manifest.leave_out == ("y first",) and not manifest.directed
    (tmp_path / "in.txt").write_text("x a y\n\nb y x\n")
    capsys.readouterr()
    words = ["predict", str(tmp_path / "exported"), "--input", str(tmp_path / "in.txt"), "--scores"]
    assert main(words) == 0
    labels = [line.partition("\t")[2] for line in capsys.readouterr().out.split("\n")[:-1]]
    assert labels == ["x first", "", "y first"]
    (tmp_path / "labels").write_text("x first\nx first\ny first\n")
    words = ["evaluate", words[1], "--source", words[3], "--target", str(tmp_path / "labels"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["accuracy"] == 1.0  # the empty line is left out
    # The measure is the recipe's, which leaves y first out: one right of one example and two answers.
    (tmp_path / "in.txt").write_text("x a y\n\nx b y\n")
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["macro_f1"] == pytest.approx(2 / 3)


def test_a_label_that_only_dev_has_stops_before_training(tmp_path: Path) -> None:
    recipe = write_order(tmp_path)
    with (tmp_path / "dev.tsv").open("a") as file:
        file.write("x y\tboth\n")
    with pytest.raises(DataError, match=r"dev\.tsv, line 103: the label must be one that training has seen"):
        start(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_batch_is_shown(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run), "--rows", "1"]) == 0
    shown = capsys.readouterr().out
    assert "  label         " in shown and "  source_ids    2 " in shown


EVERY_OPTION = (
    "text={tokenizer: sentencepiece, vocabulary_size: 40, byte_fallback: false, special_tokens: [<x>, <y>]}",
    "model.pooling=[attention, marks, stem]",
    "model.mark_distance=3",
    "model.convolutions=[2, 3]",
    "model.convolution_filters=8",
    "model.embedding_deviation=0.5",
    "model.embedding_dim=16",
    "model.dropout=0.2",
    "model.token_dropout=0.1",
    "model.pooled_dropout=0.2",
    "training.subword_sampling={alpha: 0.3}",
    "training.class_weights=balanced",
    "training.r_drop=1",
    "training.ema=0.9",
    "training.steps=20",
    "training.validate_every=8",
    "training.checkpoint_every=3",
    "training.schedule.warmup_steps=5",
    "training.batch_tokens=2000",
)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipe with marked texts."""
    recipe = write_order(tmp_path_factory.mktemp("marked"))
    for table in recipe.parent.glob("*.tsv"):
        head, *rows = table.read_text().split("\n")[:-1]
        texts = (row.partition("\t") for row in rows)
        lines = (f"{text.replace('x', '<x>').replace('y', '<y>')}\t{label}" for text, _, label in texts)
        table.write_text("\n".join([head, *lines]) + "\n")
    return recipe


def test_a_run_that_died_twice_ends_bit_equal(
    marked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert start(marked, tmp_path / "whole", *EVERY_OPTION) == 0
    for step in (5, 13):
        after_update(monkeypatch, step, crash)
        with pytest.raises(Crash):
            start(marked, tmp_path / "run", *EVERY_OPTION)
    assert start(marked, tmp_path / "run", *EVERY_OPTION) == 0
    demand_equal(tmp_path / "whole", tmp_path / "run", "step-00000020")
    task: Any = load(tmp_path / "run")
    assert task.classify(["a <x> b", "a <x> <x> <y>"]) == ["", ""]
    assert task.answers(["<x> a <y>"])[0].label in ("x first", "y first")


def test_word_vectors_are_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{letter} {number} 1 2 3\n" for number, letter in enumerate("abcd")))
    recipe = write_order(tmp_path)
    overrides = [
        "data.test=null",
        "training.steps=6",
        "training.validate_every=3",
        "training.schedule.warmup_steps=2",
        "model.embedding_dim=4",
        f"model.word_vectors={vectors}",
        "model.freeze_embeddings=true",
    ]
    assert start(recipe, tmp_path / "run", *overrides) == 0
    vectors.unlink()
    moved = (tmp_path / "run").rename(tmp_path / "moved")
    table = load(moved).model.embedding.tokens.table.numpy()
    tokens = load(moved).side.tokens
    a, b = table[tokens.index("a")], table[tokens.index("b")]
    assert (a - b)[0] != 0 and not (a - b)[1:].any()  # as in the file, to a common factor
    assert main(["plot", "confusion", str(moved), "--output", str(tmp_path / "a.png"), "--quiet"]) == 1
    assert "its recipe has no data.test; --split dev draws its dev set" in capsys.readouterr().err
