"""Sources of two columns, and a tag that decides the answer: learnt, answered, exported, never forged."""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from trainings import Crash, after_update, crash, demand_equal, start

from tf_transformer.build import load
from tf_transformer.cli import main
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
    task = load(run)
    pair = "a b\tc"
    assert task.translate([pair], tag="forth") == ["a b c"] and task.translate([pair], tag="back") == [
        "c a b"
    ]
    # The words stay in their order, and only the place of the border between the columns says where to turn.
    assert task.translate(["a\tb c"], tag="back") == ["b c a"]
    assert task.translate(["d e\tf", "d e\tg h"], tag="forth") == ["d e f", "d e g h"]
    assert task.translate(["back\ta b\tc", "forth\ta b\tc", ""]) == ["c a b", "a b c", ""]


def test_nothing_that_a_text_says_becomes_a_tag_or_a_border(run: Path) -> None:
    task = load(run)
    side = task.side
    assert side.source_tokens[-3:] == ["<|>", "<back>", "<forth>"]
    ids = side.encode_source(["forth\ta <back> <|> b\x01\x1f \u2028 back\tc"]).to_list()[0]
    special = {len(side.source_tokens) - 3 + place for place in range(3)}
    # One tag in front, one border where the tab is, and no more.
    assert [place for place, number in enumerate(ids) if number in special] == [0, 10]
    assert task.translate(["a b\tc"], tag="back") == task.translate(["a\x01b\tc"], tag="back")
    for text in ("back\ta\tb", "a\tb\tc"):  # text with a tab in it is a column too many
        with pytest.raises(ValueError, match=r"`texts\[0\]` must have 2 columns, .*\. Received: 3$"):
            task.translate([text], tag="forth")
    answers = task.n_best(["a\tb"], 4, tag="back", beam_size=6)[0]
    assert not any("<" in answer.text for answer in answers)


def test_a_tag_must_be_known(run: Path) -> None:
    task = load(run)
    with pytest.raises(ValueError, match=r"`tag` must be one of back, forth\. Received: 'sideways'"):
        task.translate(["a\tb"], tag="sideways")
    with pytest.raises(ValueError, match=r"`texts\[1\]` must begin with a tag, back or forth, and a tab"):
        task.translate(["", "a\tb"])


def predict(*words: Any) -> int:
    return main(["predict", *map(str, words), "--quiet"])


def test_lines_have_a_tab_between_columns(
    run: Path, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "in.txt"
    given.write_text("a b\tc\n\n \t \nh\tg f\n")
    for model in (run, exported):
        assert predict(model, "--input", given, "--tag", "back") == 0
        assert capsys.readouterr().out == "c a b\n\n\ng f h\n"
    given.write_text("forth\ta b\tc\nback\ta b\tc\n")
    for model in (run, exported):
        assert predict(model, "--input", given) == 0
        assert capsys.readouterr().out == "a b c\nc a b\n"


@pytest.mark.parametrize("kind", ["run", "exported"])
def test_a_line_that_is_wrong_is_named(
    run: Path, exported: Path, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = run if kind == "run" else exported
    given = tmp_path / "in.txt"
    given.write_text("a\tb\na b c\n")
    assert predict(model, "--input", given, "--tag", "back") == 1
    assert capsys.readouterr().err.endswith(
        f"{given}:2: must have 2 columns, with a tab between each two. Received: 1\n"
    )
    assert predict(model, "--input", given) == 1
    rule = "must begin with a tag, back or forth, and a tab. Received: 'a'"
    assert capsys.readouterr().err.endswith(f"{given}:1: {rule}; or name one tag for all lines with --tag\n")
    assert predict(model, "--input", given, "--tag", "sideways") == 2
    assert "--tag: must be one of back, forth. Received: 'sideways'" in capsys.readouterr().err


def test_given_files_are_scored_as_the_recipes_own(
    run: Path, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [line.split("\t") for line in (run.parent / "back_test.tsv").read_text().split("\n")[:-1]]
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("".join(f"{one}\t{other}\n" for one, other, _ in rows))
    target.write_text("".join(f"{answer}\n" for *_, answer in rows))
    found = json.loads((run / "results.json").read_text())["metrics"]["test_back_bleu"]
    for model in (run, exported):
        words = [
            "evaluate",
            str(model),
            "--source",
            str(source),
            "--target",
            str(target),
            "--json",
            "--quiet",
        ]
        assert main([*words, "--tag", "back"]) == 0
        assert json.loads(capsys.readouterr().out)["metrics"]["bleu"] == pytest.approx(found)
        assert main(words) == 1
        assert f"{source}, line 1: must begin with a tag, back or forth" in capsys.readouterr().err
    assert main(["evaluate", str(run), "--json", "--quiet"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert metrics["test_back_bleu"] == pytest.approx(found)
    assert main(["evaluate", str(run), "--tag", "back"]) == 2
    assert "--tag: is for the text of --source" in capsys.readouterr().err


def test_the_signature_takes_text_and_tag(exported: Path) -> None:
    manifest = read_manifest(exported / "1")
    assert (manifest.source_columns, manifest.tags) == (2, ("back", "forth"))
    assert manifest.verification["equal"]
    signature = tf.saved_model.load(str(exported / "1")).signatures["serving_default"]
    assert set(signature.structured_input_signature[1]) == {"text", "tag"}

    def answer(texts: list[str], tags: list[str]) -> list[str]:
        found = signature(text=tf.constant(texts), tag=tf.constant(tags))["text"]
        return [text.decode() for text in found.numpy()]

    assert answer(["a b\tc", "a b\tc", ""], ["back", "forth", "back"]) == ["c a b", "a b c", ""]
    rule = "`tag` must be back or forth, and `text` must have 2 columns, with a tab between each two"
    for text, tag in (
        ("a\tb", "sideways"),
        ("a\tb", "back\tc"),
        ("a\tb\tc", "back"),
        ("a", "back"),
        ("a\tb", ""),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rule):
            answer([text], [tag])


def test_a_batch_is_shown(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run), "--rows", "1"]) == 0
    shown = capsys.readouterr().out
    assert "<|>" in shown and ("pieces        <forth> " in shown or "pieces        <back> " in shown)


EVERY_OPTION = (
    "text={tokenizer: sentencepiece, vocabulary_size: 40, byte_fallback: false}",
    "model.dropout=0.2",
    "training.subword_sampling={alpha: 0.3}",
    "training.steps=12",
    "training.validate_every=6",
    "training.checkpoint_every=3",
    "training.schedule={name: constant, peak: 0.003, warmup_steps: 3}",
    "training.batch_tokens=2500",
    "decoding.beam=1",
)


def test_a_run_that_died_ends_bit_equal(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert start(recipe, tmp_path / "whole", *EVERY_OPTION) == 0
    after_update(monkeypatch, 7, crash)
    with pytest.raises(Crash):
        start(recipe, tmp_path / "run", *EVERY_OPTION)
    assert start(recipe, tmp_path / "run", *EVERY_OPTION) == 0
    demand_equal(tmp_path / "whole", tmp_path / "run", "step-00000012")


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (["tag: back"], ["tag: other"], "the model knows the tags back, forth. Received: other"),
        (["[one, other]", "[1, 2]"], ["one", "1"], "the model reads sources of 2 columns. Received: 1"),
        ([", tag: forth", ", tag: back"], ["", ""], "must have a tag, back, forth, as the model does"),
    ],
)
def test_a_run_goes_on_with_no_other_form(
    run: Path, recipe: Path, tmp_path: Path, old: list[str], new: list[str], rule: str
) -> None:
    text = recipe.read_text()
    for before, after in zip(old, new, strict=True):
        text = text.replace(before, after)
    changed = recipe.with_name("changed.yaml")
    changed.write_text(text)
    shutil.copytree(run, tmp_path / "run")
    with pytest.raises(RecipeError, match=f"data.train: {re.escape(rule)}"):
        start(changed, tmp_path / "run", "training.steps=510", reset=("data",))
