"""The verbs about recipes: ``check``, ``schema`` and ``recipe``. TensorFlow is not imported."""

import json
import sys
from typing import Annotated

import typer

from tf_transformer.cli.options import Debug, Overrides, RecipeFile
from tf_transformer.errors import printable


def check(recipe: RecipeFile, overrides: Overrides = None, debug: Debug = False) -> None:
    """Tell all faults of a recipe at once.

    One line each, with file, line, key, the rule, what was found, and the nearest valid key.

    \b
    Example: tf-transformer check training/quickstart/recipe.yaml model.dropout=0.3
    """
    from tf_transformer.recipe import load_recipe, recipe_digest

    found = load_recipe(recipe, overrides or ())
    for warning in found.warnings():
        print(printable(f"{recipe}: note: {warning}"), file=sys.stderr)
    print(f"{printable(str(recipe))}: right; SHA-256 of the resolved recipe {recipe_digest(found)}")


def schema(debug: Debug = False) -> None:
    """Print the JSON Schema of recipes, for editors.

    \b
    Example: tf-transformer schema > recipe.schema.json
    """
    from tf_transformer.recipe import json_schema

    print(json.dumps(json_schema(), indent=2))


def recipe(
    task: Annotated[str, typer.Argument(metavar="[TASK]", help="What is to be trained.")] = "translate",
    debug: Debug = False,
) -> None:
    """Print a complete recipe, every key explained.

    \b
    Example: tf-transformer recipe translate > recipe.yaml
    """
    from tf_transformer.recipe import commented_recipe

    print(commented_recipe(task), end="")
