"""What prepared data was made from, against what a recipe asks for; nothing of it needs TensorFlow."""

import json
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import compare_recipes, load_recipe, recipe_digest, with_files
from tf_transformer.recipe.prepared import prepared_keys, prepared_sources

RECIPE = """\
task: translate
data:
  train: [{source: a.en, target: a.de}, {table: b.tsv, weight: 2.0}]
  dev: {fraction: 0.1}
training: {steps: 10}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    for name in ("a.en", "a.de", "b.tsv"):
        (tmp_path / name).write_text("source\ttarget\n", encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    return tmp_path / "recipe.yaml"


def write_index(recipe: Path, **changes: Any) -> None:
    found = load_recipe(recipe)
    files = {key: {"size": 14, "sha256": key} for key in prepared_sources(found)}
    keys = {**prepared_keys(found), **changes}
    (recipe.parent / "ready").mkdir()
    (recipe.parent / "ready" / "index.json").write_text(json.dumps({"keys": keys, "files": files}))


def recorded(recipe: Path, *overrides: str) -> Any:
    return with_files(
        load_recipe(recipe, [f"data.prepared={recipe.parent / 'ready'}", *overrides]), recipe.parent
    )


def test_records_of_training_files_are_those_of_the_index(recipe: Path) -> None:
    write_index(recipe)
    found = {record.relative: record.sha256 for record in recorded(recipe).files}
    assert found["a.en"] == "data.train.0.source" and found["b.tsv"] == "data.train.1.table"
    assert len(found["ready/index.json"]) == 64


def test_other_prepared_data_is_a_change_of_content(recipe: Path) -> None:
    write_index(recipe)
    old, index = recorded(recipe), recipe.parent / "ready" / "index.json"
    index.write_text(index.read_text() + "\n")
    (change,) = compare_recipes(old, recorded(recipe)).logged
    assert change.key == "data.prepared" and change.is_content
    assert not compare_recipes(old, old).logged


def test_weights_and_names_do_not_count(recipe: Path) -> None:
    write_index(recipe)
    train = "[{source: a.en, target: a.de, name: x}, {table: b.tsv, weight: 9.0}]"
    text = RECIPE.replace("[{source: a.en, target: a.de}, {table: b.tsv, weight: 2.0}]", train)
    recipe.write_text(text, encoding="utf-8")
    assert recorded(recipe, "training.batch_tokens=99").files


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("text.vocabulary_size=9000", "text.vocabulary_size: 8000, and the recipe has 9000"),
        ("data.max_source_length=99", "data.max_source_length: 256, and the recipe has 99"),
        ("data.dev.fraction=0.2", "data.dev.fraction: 0.1, and the recipe has 0.2"),
    ],
)
def test_another_recipe_is_refused_by_its_keys(recipe: Path, override: str, told: str) -> None:
    write_index(recipe)
    with pytest.raises(RecipeError) as caught:
        recorded(recipe, override)
    assert f"data.prepared: {recipe.parent / 'ready'} was made with {told}: prepare it again" in str(
        caught.value
    )


def test_data_that_is_not_there_or_broken_or_of_other_files_is_refused(recipe: Path) -> None:
    with pytest.raises(RecipeError, match=r"ready holds no finished data: `tf-transformer prepare RECIPE`"):
        recorded(recipe)
    write_index(recipe)
    (recipe.parent / "a.de").write_text("more and more text")
    with pytest.raises(RecipeError, match=r"made of 14 bytes of data.train.0.target, and .*a.de has 18: "):
        recorded(recipe)
    (recipe.parent / "ready" / "index.json").write_text("{")
    with pytest.raises(RecipeError, match=r"ready/index.json is broken .*: prepare the data again"):
        recorded(recipe)


def test_sampling_of_pieces_needs_text(recipe: Path) -> None:
    with pytest.raises(RecipeError, match=r"subword_sampling: segments text anew, and data.prepared"):
        load_recipe(recipe, ["data.prepared=ready", "training.subword_sampling={alpha: 0.1}"])


def test_prepared_or_not_it_is_the_same_recipe(recipe: Path) -> None:
    assert recipe_digest(load_recipe(recipe)) == recipe_digest(load_recipe(recipe, ["data.prepared=ready"]))
