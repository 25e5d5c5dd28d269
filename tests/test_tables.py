"""The table of training/README.md is what the recorded results say, and no figure outlives its recipe."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.errors import ProjectError
from tf_transformer.recipe import changed_keys, load_recipe, portable, recipe_digest, with_files

TRAINING = Path(__file__).parents[1] / "training"
tables = runpy.run_path(str(TRAINING / "tables.py"))
RECIPE = """\
task: translate
data: {train: {table: a.tsv}, dev: {fraction: 0.5}, test: {held: {table: a.tsv}}}
training: {steps: 7, seed: 3}
"""


def test_the_readme_is_up_to_date() -> None:
    page = (TRAINING / "README.md").read_text(encoding="utf-8")
    assert page == tables["written"](page, tables["table"]()), "run: python training/tables.py"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe in a folder of its own."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "a.tsv").write_text("source\ttarget\na\tb\n")
    (tmp_path / "toy" / "recipe.yaml").write_text(RECIPE)
    return tmp_path / "toy" / "recipe.yaml"


def results_of(path: Path, seed: int, bleu: float, **more: Any) -> dict[str, Any]:
    """What a run of the recipe would have recorded, on a machine that chose bfloat16."""
    recipe = with_files(load_recipe(path, [f"training.seed={seed}"]), path.parent)
    return {
        "metrics": {
            "test_bleu": bleu,
            "test_bleu_low": bleu - 1,
            "test_bleu_high": bleu + 1,
            "val_bleu": 9.0,
        },
        "signatures": {"test_bleu": "tok:13a|x"},
        "step": 1234,
        "seconds": 30.0 * seed,
        "seed": seed,
        "machine": {"processor": "Abacus", "cores": 2, "gpus": []},
        "commit": "0123456789",
        "date": "2026-01-02",
        "recipe_sha256": recipe_digest(recipe),
        "recipe": portable(recipe.replaced("training", precision="mixed_bfloat16")),
        **more,
    }


def record(path: Path, name: str, results: dict[str, Any]) -> None:
    (path.parent / "results").mkdir(exist_ok=True)
    (path.parent / "results" / name).write_text(json.dumps(results))


def test_a_row_of_one_seed_and_of_several(recipe: Path) -> None:
    start = "| [toy](toy/recipe.yaml) | `tf-transformer train training/toy/recipe.yaml`"
    assert tables["row"](recipe) == f"{start} | open | open | open |  |  |"
    record(recipe, "recipe.json", results_of(recipe, 3, 20.0))
    machine, when = "2 cores of Abacus", "2026-01-02 | 0123456"
    figures = "held: BLEU 20.00 [19.00, 21.00] (`tok:13a\\|x`)"
    assert tables["row"](recipe) == f"{start} | {machine} | 90 s, 1 234 updates | {figures} | {when} |"
    record(recipe, "recipe-4.json", results_of(recipe, 4, 23.0))
    record(recipe, "recipe-big.json", {"of": "another recipe, recipe-big.yaml"})
    figures = "held: BLEU 21.50 (mean of 2 seeds, deviation 2.12: 20.00, 23.00) (`tok:13a\\|x`)"
    command = f"{start}, and `training.seed=N` for 4"
    time = "90 s to 2 min, 1 234 updates"
    assert tables["row"](recipe) == f"{command} | {machine} | {time} | {figures} | {when} |"


def test_figures_of_a_recipe_that_has_changed_are_refused(recipe: Path) -> None:
    record(recipe, "recipe.json", results_of(recipe, 3, 20.0))
    recipe.write_text(RECIPE.replace("steps: 7", "steps: 8") + "model: {dropout: 0.25}\n")
    with pytest.raises(ProjectError) as error:
        tables["table"](recipe.parents[1])
    start = "toy/results/recipe.json: is of another recipe: "
    assert str(error.value).split("\n") == [
        f"{start}model.dropout: 0.1 then, 0.25 now",
        f"{start}training.steps: 7 then, 8 now",
    ]


def test_what_a_recipe_is_known_by(recipe: Path) -> None:
    results, now, folder = results_of(recipe, 3, 20.0), load_recipe(recipe), recipe.parent
    assert str(folder) not in json.dumps(results)
    assert changed_keys(results, now, "x", folder) == []
    # A key that was not known then has its default now, or the recipe is another one.
    del results["recipe"]["model"]["dropout"]
    assert changed_keys(results, now, "x", folder) == []
    other = load_recipe(recipe, ["model.dropout=0.2"])
    assert changed_keys(results, other, "x", folder) == ["model.dropout: 0.1 then, 0.2 now"]
    # A key that is none any more.
    results["recipe"]["model"]["droput"] = 0.1
    with pytest.raises(ProjectError, match=r"x:\d+: model.droput: .*nearest valid key is model.dropout"):
        changed_keys(results, now, "x", folder)
    # Before recipes were recorded there was the digest alone.
    del results["recipe"]
    assert changed_keys(results, now, "x", folder) == []
    assert changed_keys(results, other, "x", folder) == ["SHA-256 of the recipe"]


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ProjectError, match=r"README\.md: must have the lines <!-- table: begin -->"):
        tables["written"]("# Recipes\n", "| a |")
