"""The recipe that figures were reached with, kept beside them; and whether a recipe still is that one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tf_transformer.recipe.about_section import is_remark
from tf_transformer.recipe.base import Recipe
from tf_transformer.recipe.changes import compare_recipes
from tf_transformer.recipe.digest import recipe_digest
from tf_transformer.recipe.reader import parse_recipe
from tf_transformer.recipe.text import plain, yaml_text


def portable(recipe: Recipe) -> dict[str, Any]:
    """A recipe in plain values that say nothing about the machine: files by where they were from the recipe.

    Args:
        recipe: As resolved, with records of its files.
    """
    relative = {record.path: record.relative for record in recipe.files}
    values: dict[str, Any] = _replaced(plain(recipe), relative)
    del values["files"]
    return values


def changed_keys(results: Mapping[str, Any], recipe: Recipe, name: str, folder: Path) -> list[str]:
    """What a recipe says otherwise than the one that figures were reached with; none where they hold.

    A key that was not known then must have its default now. Where the recipe leaves a choice to the machine,
    ``auto``, any choice is what it says.

    Args:
        results: The content of a ``results.json``. Where it holds no recipe, the digest must be the same.
        recipe: A resolved recipe, with the seed of the results.
        name: What the results are called where the recipe in them is none any more.
        folder: The recipe's folder, where paths in the results begin.

    Returns:
        One line a key.

    Raises:
        RecipeError: If the recipe in the results is none any more.
    """
    if "recipe" not in results:
        return [] if results.get("recipe_sha256") == recipe_digest(recipe) else ["SHA-256 of the recipe"]
    then = parse_recipe(yaml_text(results["recipe"]), name, folder)
    changes = compare_recipes(then, recipe)
    every = (*changes.refused, *changes.logged, *changes.free)
    counting = (each for each in every if each.new != "auto" and not is_remark(each.key))
    return [f"{each.key}: {each.old} then, {each.new} now" for each in counting]


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value
