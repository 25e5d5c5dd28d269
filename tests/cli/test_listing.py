"""``runs``: every run with its figures and state; what is none, or is broken, is named and stops nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.cli import main
from tf_transformer.recipe import load_recipe, recipe_digest, with_files
from tf_transformer.run_folder import RunFolder

RECIPE = """\
task: translate
data: {train: {table: a.tsv}, dev: {fraction: 0.5}}
training: {steps: 9}
"""
ROWS = [
    {"step": 3, "seconds": 60.0, "val_bleu": 11.5, "val_loss": 3.0},
    {"step": 6, "seconds": 125.0, "val_bleu": 21.25, "val_loss": 2.5},
    {"step": 9, "seconds": 3725.0, "val_bleu": 20.0, "val_loss": 2.0},
]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "a.tsv").write_text("source\ttarget\na\tb\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path / "recipe.yaml"


def make(
    recipe: Path, name: str, rows: list[dict[str, Any]], results: Any = None, *overrides: str
) -> RunFolder:
    """A run below ``runs/`` with these records."""
    run = RunFolder(recipe.parent / "runs" / name)
    run.create(with_files(load_recipe(recipe, overrides), recipe.parent))
    for row in rows:
        run.append_metrics(row)
    if results is not None:
        run.write_results(results)
    return run


def test_runs_are_listed_with_their_figures(
    recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recipe.parent)
    figures = {"test_loss": 2.0, "test_bleu": 19.987}
    make(recipe, "done", ROWS, {"step": 9, "seconds": 3725.0, "metrics": figures})
    make(recipe, "sweep/by-loss", ROWS[:2], None, "training.early_stopping={metric: loss}", "training.seed=7")
    make(recipe, "sweep/further", ROWS, {"step": 6, "metrics": figures})
    make(recipe, "sweep/new", [])
    broken = make(recipe, "broken", ROWS)
    broken.metrics_file.write_text("nonsense\n")
    (recipe.parent / "runs" / "notes").mkdir()
    (recipe.parent / "runs" / ".hidden").mkdir()
    (recipe.parent / "runs" / "sweep" / "back").symlink_to(recipe.parent / "runs")
    with RunFolder(Path("runs/sweep/new")).lock():
        assert main(["runs"]) == 0
    printed, told = capsys.readouterr()
    digests = {
        name: recipe_digest(RunFolder(Path("runs", name)).recipe())[:8]
        for name in ("done", "sweep/by-loss", "sweep/new")
    }
    done, swept, new = digests.values()
    head = ["run", "task", "recipe", "seed", "state", "updates", "best on dev", "test", "time"]
    bests = ["BLEU 21.25", "loss 2.500"]
    assert [line.split("  ") for line in squeezed(printed)] == [
        head,
        ["runs/done", "translate", done, "1", "finished", "9", bests[0], "BLEU 19.99", "1:02:05"],
        ["runs/sweep/by-loss", "translate", swept, "7", "interrupted", "6", bests[1], "-", "2:05"],
        ["runs/sweep/further", "translate", done, "1", "interrupted", "9", bests[0], "-", "1:02:05"],
        ["runs/sweep/new", "translate", new, "1", "running", "0", "-", "-", "0:00"],
    ]
    assert told.split("\n") == [
        "runs/broken: is broken: runs/broken/metrics.jsonl:1: is no object with a step",
        "runs/notes: is no run",
        "",
    ]


def squeezed(text: str) -> list[str]:
    """Lines of a table with two spaces between cells."""
    lines = []
    for line in text.removesuffix("\n").split("\n"):
        while "   " in line:
            line = line.replace("   ", "  ")
        lines.append(line)
    return lines


def test_runs_as_json(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make(recipe, "a", ROWS, {"step": 9, "seconds": 3725.0, "metrics": {"test_chrf": 50.0}})
    assert main(["runs", str(run.path), "--json"]) == 0
    printed, told = capsys.readouterr()
    assert json.loads(printed) == [
        {
            "run": str(run.path),
            "task": "translate",
            "recipe_sha256": recipe_digest(run.recipe()),
            "seed": 1,
            "state": "finished",
            "step": 9,
            "seconds": 3725.0,
            "measure": "bleu",
            "best": 21.25,
            "best_step": 6,
            "test": "test_chrf",
            "test_value": 50.0,
        }
    ]
    assert told == ""


def test_no_run_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["runs", str(tmp_path / "empty")]) == 0
    assert capsys.readouterr() == ("", f"{tmp_path}/empty: holds no run that can be read\n")
    assert main(["runs", str(tmp_path / "empty"), "--json", "--quiet"]) == 0
    assert capsys.readouterr() == ("[]\n", "")
    assert main(["runs", str(tmp_path / "none")]) == 1
    assert capsys.readouterr() == ("", f"{tmp_path}/none: there is no such folder\n")


def test_a_lock_that_a_killed_training_left_is_none(recipe: Path) -> None:
    run = make(recipe, "a", ROWS)
    (run.path / "lock").write_text('{"pid": 1}')
    assert run.trainer() is None
    (run.path / "lock").unlink()
    (run.path / "lock").symlink_to(recipe)
    assert run.trainer() is None
    (run.path / "lock").unlink()
    with run.lock():
        assert "process " in str(run.trainer())
