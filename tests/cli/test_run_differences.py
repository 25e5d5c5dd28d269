"""``runs diff``: keys, figures and answers of two runs side by side."""

import json
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.cli import main
from tf_transformer.cli.run_differences import marked
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.run_folder import RunFolder
from tf_transformer.run_folder.samples import Answered, read_samples, write_samples

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def two(recipe: Path) -> None:
    """A complete run ``a`` and ``b``, which is not."""
    overrides = {"a": [], "b": ["training.seed=2", "model.dropout=0.3"]}
    for name, values in overrides.items():
        run = RunFolder(Path(name))
        run.create(with_files(load_recipe(recipe, values), recipe.parent))
        write_samples(run.samples, 3, [Answered("one", "un", "?")])
    a, b = RunFolder(Path("a")), RunFolder(Path("b"))
    a.write_results({"step": 9, "metrics": {"val_bleu": 11.0, "val_loss": 2.0, "test_bleu": 20.0}})
    b.append_metrics({"step": 6, "loss": 1.0, "val_bleu": 12.5, "val_loss": 1.5})
    write_samples(a.samples, 6, [Answered("one", "un", "un"), Answered("two", "deux", "le deux ou")])
    write_samples(b.samples, 6, [Answered("two", "deux", "le trois"), Answered("one", "un", "un")])
    write_samples(a.samples, 9, [Answered("one", "un", "deux")])


def test_keys_figures_and_answers(two: None, capsys: Captured) -> None:
    assert main(["runs", "diff", "a", "b"]) == 0
    printed, told = capsys.readouterr()
    assert told == ""
    assert printed.split("\n") == [
        "a  a: 9 updates",
        "b  b: 6 updates",
        "",
        "key            a    b",
        "training.seed  1    2",
        "model.dropout  0.1  0.3",
        "",
        "figure         a      b   b - a",
        "val_bleu   11.00  12.50   +1.50",
        "val_loss   2.000  1.500  -0.500",
        "test_bleu  20.00      -",
        "",
        "1 of 2 answers differ (samples of dev after 6 updates)",
        "",
        "  source     two",
        "  reference  deux",
        "  a to b     le [-deux ou-] {+trois+}",
        "",
    ]


def test_for_programs(two: None, capsys: Captured) -> None:
    assert main(["runs", "diff", "a", "b", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["recipe"] == {"training.seed": {"a": 1, "b": 2}, "model.dropout": {"a": 0.1, "b": 0.3}}
    assert found["metrics"]["test_bleu"] == {"a": 20.0, "b": None}
    assert found["answers"]["different"] == [
        {"source": "two", "reference": "deux", "a": "le deux ou", "b": "le trois"}
    ]


def test_a_run_and_itself(two: None, capsys: Captured) -> None:
    assert main(["runs", "diff", "a", "a", "--lines", "0"]) == 0
    printed = capsys.readouterr().out
    assert "\nthe recipes are the same\n" in printed and "\n0 of 1 answers differ" in printed
    assert main(["runs", "diff", "a", "none"]) == 1
    assert capsys.readouterr().err == "none: there is no such run folder\n"


def test_a_whole_set(run: Path, capsys: Captured) -> None:
    arguments = ["runs", "diff", str(run), str(run), "--split", "test", "--quiet"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "\n0 of 2 answers differ (one: 2 sentences)\nBLEU " in printed
    assert "+0.00, p = 1.000 by paired bootstrap  nrefs:1|bs:1000|" in printed


def test_marks() -> None:
    assert marked("a b c", "a x c d") == "a [-b-] {+x+} c {+d+}"
    assert marked("", "a b") == "{+a b+}"
    assert marked("你好", "你们好") == "你 {+们+} 好"


def test_texts_of_several_lines_come_back(tmp_path: Path) -> None:
    samples = [Answered("a\n\nb", "c\n", ""), Answered("output     x", "", "y\n")]
    write_samples(tmp_path, 12, samples)
    assert read_samples(tmp_path) == {12: samples}
