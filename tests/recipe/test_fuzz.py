"""Broken recipes at random: each is read rightly or refused, never a traceback."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import (
    Recipe,
    TranslateRecipe,
    commented_recipe,
    dump_recipe,
    load_recipe,
    recipe_digest,
)
from tf_transformer.recipe.keys import schema_keys

VALUES = (
    "null",
    "-1",
    "1e400",
    ".nan",
    "[]",
    "{}",
    "[1, 2]",
    "yes",
    "'x'",
    "&a [*a]",
    "*a",
    "!!binary x",
    "9" * 400,
    "0",
    "{a: {b: c}}",
    "\t",
    "? x",
    "{source: a}",
    "[{source: dev.en}]",
    "{x: {table: y}}",
    "[[1]]",
    "é",
    "{name: []}",
    "{fraction: x}",
    "[null]",
    "{null: 1}",
    "{1: 2}",
    "{'': 1}",
    "<<: 1",
    "{<<: {peak: 1}}",
    "true",
    "~",
    '"\\0"',
)
KEYS = [".".join(key.path) for key in schema_keys(TranslateRecipe)]


RECIPE = commented_recipe()
RECIPES_A_SEED = 100
# A file with line (and column), or what was asked for on the command line, its key first.
PLACE = r"(?:{file}:[0-9]+(?::[0-9]+)?|command line): \S"


def broken(rng: random.Random) -> str:
    lines = RECIPE.split("\n")
    for _ in range(rng.randint(1, 5)):
        place, line = rng.randrange(len(lines)), rng.choice(lines)
        match rng.randrange(4):
            case 0:
                lines.insert(place, line)
            case 1:
                lines[place] = f"{lines[place].partition(':')[0]}: {rng.choice(VALUES)}"
            case 2:
                column = rng.randrange(len(line) + 1)
                lines[place] = line[:column] + rng.choice(" :{}[]#-&*!|>'\"%@`,?\x07\r\x85") + line[column:]
            case _:
                del lines[place]
    return "\n".join(lines)


def numbers(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """The numbers of nested mappings, with the keys that lead to them."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from numbers(value, (*path, str(name)))
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield path, tree  # no truth values: to readers of YAML 1.1 an unquoted yes is one


def check_values(recipe: Recipe, text: str) -> None:
    """What another reader of YAML finds in the file stands in the recipe."""
    there = dict(numbers(recipe.model_dump()))
    for path, value in numbers(yaml.safe_load(text)):
        assert there[path] == value, path


def load_one(rng: random.Random, folder: Path) -> str:
    """Breaks a recipe and loads it; what came of it."""
    path, again = folder / "broken.yaml", folder / "again.yaml"
    text = broken(rng)
    path.write_text(text, encoding="utf-8")
    overrides = [f"{rng.choice(KEYS)}={rng.choice(VALUES)}" for _ in range(rng.choice((0, 0, 1)))]
    try:
        recipe = load_recipe(path, overrides)
    except RecipeError as error:
        assert error.faults
        for fault in error.faults:
            assert re.match(PLACE.format(file=re.escape(str(path))), fault), fault
            assert len(fault.splitlines()) == 1 and (overrides or not fault.startswith("command")), fault
        return "refused"
    again.write_text(dump_recipe(recipe), encoding="utf-8")
    loaded = load_recipe(again)
    assert loaded == recipe and recipe_digest(loaded) == recipe_digest(recipe)
    if not overrides:
        check_values(recipe, text)
    return "read"


def load_many(seed: int, folder: Path) -> Counter[str]:
    rng = random.Random(seed)
    for name in ("train.source.txt", "train.target.txt", "dev.source.txt", "dev.target.txt"):
        (folder / name).touch()
    outcomes: Counter[str] = Counter()
    for number in range(RECIPES_A_SEED):
        try:
            outcomes[load_one(rng, folder)] += 1
        except Exception as error:
            error.add_note(f"seed {seed}, recipe {number}, in {folder}")
            raise
    return outcomes


@pytest.mark.parametrize("seed", range(5))
def test_read_rightly_or_refused(folder: Path, seed: int) -> None:
    outcomes = load_many(seed, folder)
    assert min(outcomes["read"], outcomes["refused"]) > RECIPES_A_SEED / 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_ten_thousand_recipes(folder: Path, seed: int) -> None:
    assert load_many(seed, folder).total() == RECIPES_A_SEED
