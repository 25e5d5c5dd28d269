"""Broken recipes at random: each is read rightly or refused, never a traceback."""

import random
from pathlib import Path

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import commented_recipe, dump_recipe, load_recipe, recipe_digest
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
KEYS = [".".join(key.path) for key in schema_keys()]


def broken(rng: random.Random) -> str:
    lines = commented_recipe().split("\n")
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


@pytest.mark.parametrize("seed", range(5))
def test_read_rightly_or_refused(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    for name in ("train.source.txt", "train.target.txt", "dev.source.txt", "dev.target.txt"):
        (folder / name).touch()
    path, again = folder / "broken.yaml", folder / "again.yaml"
    read = 0
    for _ in range(40):
        path.write_text(broken(rng), encoding="utf-8")
        overrides = [f"{rng.choice(KEYS)}={rng.choice(VALUES)}" for _ in range(rng.choice((0, 0, 1)))]
        try:
            recipe = load_recipe(path, overrides)
        except RecipeError as error:
            assert error.faults and all(fault and "\n" not in fault for fault in error.faults)
            continue
        read += 1
        again.write_text(dump_recipe(recipe), encoding="utf-8")
        assert load_recipe(again) == recipe and recipe_digest(load_recipe(again)) == recipe_digest(recipe)
    assert 0 < read < 40
