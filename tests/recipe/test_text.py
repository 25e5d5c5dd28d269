"""Recipes as text: resolved, commented, as a schema, as a digest."""

# ruff: noqa: E501 - a fault is one line, however long

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import (
    RECIPES,
    TranslateRecipe,
    commented_recipe,
    data_files,
    dump_recipe,
    json_schema,
    load_recipe,
    recipe_digest,
    with_files,
)
from tf_transformer.recipe.keys import schema_keys

FORMS = [
    [],
    [
        "data.train=[{table: dev.tsv, name: no, columns: {source: 1, target: 2}}, {source: train.en, target: train.de}]"
    ],
    [
        "data.dev={one: {source: dev.en, target: [dev.de, dev2.de]}, two: {table: dev.tsv, columns: {source: 1, target: [2, 3]}}}"
    ],
    ["data.dev={fraction: 0.25}", "data.test=[{table: dev.tsv, name: '1e5'}]"],
    ["text.tokenizer=bytes", "training.schedule={name: cosine, warmup_steps: 9}"],
    ["text.model=dev.tsv", "training.early_stopping={patience: 3}"],
    [
        "model.preset=small",
        "model.num_heads=8",
        "training.optimizer.clip_norm=null",
        "training.optimizer.epsilon=1e-9",
    ],
]


@pytest.mark.parametrize("overrides", FORMS)
def test_a_resolved_recipe_is_read_back_as_it_was(folder: Path, overrides: list[str]) -> None:
    recipe = with_files(load_recipe(Path("recipe.yaml"), overrides), folder)
    (folder / "run.yaml").write_text(dump_recipe(recipe), encoding="utf-8")
    assert load_recipe(folder / "run.yaml") == recipe


@pytest.mark.parametrize("overrides", FORMS)
def test_other_readers_of_yaml_see_the_same_values(folder: Path, overrides: list[str]) -> None:
    recipe = load_recipe(Path("recipe.yaml"), overrides)
    values: Any = yaml.safe_load(dump_recipe(recipe))
    assert TranslateRecipe.model_validate(values) == recipe


def test_records_of_files(folder: Path) -> None:
    recipe = load_recipe(Path("recipe.yaml"), ["text.model=dev2.de", "data.test={table: dev.tsv}"])
    names = ["train.en", "train.de", "dev.tsv", "dev2.de"]
    assert data_files(recipe) == [folder / name for name in names]
    records = with_files(recipe, folder / "deeper").files
    assert [record.relative for record in records] == [f"../{name}" for name in names]
    assert [record.path for record in records] == [str(folder / name) for name in names]
    first = records[0]
    assert (first.size, first.sha256) == (9, hashlib.sha256(b"train.en\n").hexdigest())


def digest(*overrides: str) -> str:
    return recipe_digest(load_recipe(Path("recipe.yaml"), overrides))


def test_the_digest_is_of_what_is_said_not_of_how_or_where(folder: Path) -> None:
    plain = digest()
    text = Path("recipe.yaml").read_text()
    Path("recipe.yaml").write_text("# a comment\n" + text + "model: {preset: tiny, dropout: 1e-1}\n")
    assert digest() == plain
    assert (
        digest("data.train=[{target: dev.de, source: dev.en, name: other}]", "data.dev.table=dev2.tsv")
        == plain
    )
    assert digest("data.train.licence=CC0-1.0", "about={name: mine, languages: [en], licence: MIT}") == plain
    assert recipe_digest(with_files(load_recipe(Path("recipe.yaml")), folder)) == plain
    for change in (
        "model.dropout=0.2",
        "training.seed=2",
        "data.train.encoding=latin-1",
        "text.model=dev.tsv",
    ):
        assert digest(change) != plain
    assert digest("data.test={table: dev.tsv}") != plain
    assert digest("data.dev={fraction: 0.1}") != plain
    assert (
        digest("data.train=[{source: dev.en, target: dev.de}, {source: dev.en, target: dev2.de, name: b}]")
        != plain
    )


def test_the_commented_recipe_is_a_recipe_of_defaults(folder: Path) -> None:
    text = commented_recipe("translate")
    path = folder / "commented.yaml"
    path.write_text(text, encoding="utf-8")
    for name in ("train.source.txt", "train.target.txt", "dev.source.txt", "dev.target.txt"):
        (folder / name).touch()
    shown = load_recipe(path)
    brief = folder / "brief.yaml"
    brief.write_text(
        "task: translate\ndata:\n  train: {source: train.source.txt, target: train.target.txt}\n"
        "  dev: {source: dev.source.txt, target: dev.target.txt}\ntraining: {steps: 20000}\n"
    )
    assert shown == load_recipe(brief)


def test_the_commented_recipe_explains_every_key() -> None:
    text = commented_recipe()
    for key in schema_keys(TranslateRecipe):
        assert f"{key.path[-1]}:" in text
        help = " ".join((key.field.description or "").split())
        assert help in " ".join(text.replace("#", " ").split())
    assert max(map(len, text.split("\n"))) <= 110


def test_the_alternatives_in_the_commented_recipe_are_right(folder: Path) -> None:
    for name in ("train", "dev", "test"):
        for ending in ("tsv", "source.txt", "target.txt"):
            (folder / f"{name}.{ending}").touch()
    section, blocks = "", []
    for line, before in zip(lines := commented_recipe().split("\n"), ["", *lines], strict=False):
        if line and line[0] not in "# ":
            section = line.removesuffix(":")
        elif before == "  # Or:":
            blocks.append((f"{section}.{line[4:-1]}", [line[4:]]))
        elif line.startswith("  #   "):
            blocks[-1][1].append(line[4:])
    for key, block in blocks:
        (value,) = yaml.safe_load("\n".join(block)).values()
        load_recipe(Path("recipe.yaml"), [f"{key}={json.dumps(value)}", "training.steps=5000"])
    names = [key for key, _ in blocks]
    assert sorted(set(names)) == [
        "data.dev", "data.test", "data.train", "training.early_stopping", "training.lora",
        "training.schedule", "training.subword_sampling",
    ]  # fmt: skip
    assert len(names) == 14


def test_a_task_that_there_is_not() -> None:
    with pytest.raises(RecipeError, match=r"task must be one of translate, .*; received juggle"):
        commented_recipe("juggle")


def test_the_json_schema_names_every_key_and_nothing_of_the_trainer() -> None:
    schema = json_schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "FileRecord" not in schema["$defs"]
    assert len(schema["oneOf"]) == len(RECIPES)
    for part in schema["oneOf"]:
        recipe = schema["$defs"][part["$ref"].rpartition("/")[2]]
        assert recipe["required"] == ["task", "data"] and "files" not in recipe["properties"]
    assert schema["$defs"]["TranslateModel"]["properties"]["norm"]["enum"] == ["pre", "post", "deep"]
    assert schema["$defs"]["TranslateModel"]["properties"]["norm"]["midway"] == "refused"
    assert schema["$defs"]["TranslateModel"]["additionalProperties"] is False


@pytest.mark.parametrize("task", RECIPES)
def test_every_key_has_help_of_one_sentence_or_two_and_a_mark(task: str) -> None:
    for key in schema_keys(RECIPES[task]):
        help = key.field.description or ""
        assert 3 < len(help) < 110, key.path
        assert help[0].isupper() or help.startswith(("and ", "sacreBLEU")), key.path
        assert key.midway in ("free", "logged", "refused")
