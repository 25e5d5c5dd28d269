"""The schema of recipes: a union of one form a task, chosen by the key ``task``.

Every key is written once, with its default, its help, its rules, and what changing it midway means: what all
tasks share in ``base.py`` and its sections, what one task has beside in the file of that task.
``tf-transformer recipe`` and ``schema`` print it.
"""

from tf_transformer.errors import RecipeError
from tf_transformer.recipe.base import Recipe
from tf_transformer.recipe.classify_images import ClassifyImagesRecipe
from tf_transformer.recipe.classify_text import ClassifyTextRecipe
from tf_transformer.recipe.classify_vectors import ClassifyVectorsRecipe
from tf_transformer.recipe.generate import GenerateRecipe
from tf_transformer.recipe.translate import TranslateRecipe

RECIPES: dict[str, type[Recipe]] = {
    "translate": TranslateRecipe,
    "classify_text": ClassifyTextRecipe,
    "generate": GenerateRecipe,
    "classify_images": ClassifyImagesRecipe,
    "classify_vectors": ClassifyVectorsRecipe,
}
"""The recipes that may be written, by their ``task``."""


def recipe_class(task: str) -> type[Recipe]:
    """The recipe of a task.

    Raises:
        RecipeError: When there is no such task.
    """
    if task not in RECIPES:
        raise RecipeError(f"task must be one of {', '.join(RECIPES)}; received {task}")
    return RECIPES[task]
