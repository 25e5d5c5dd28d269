"""Recipes: the one YAML file that determines a run, its schema, its reader and its text forms."""

from tf_transformer.recipe.base import Evaluation, FileRecord, Recipe
from tf_transformer.recipe.changes import Change, Changes, compare_recipes
from tf_transformer.recipe.classify_images import ClassifyImagesRecipe
from tf_transformer.recipe.classify_text import ClassifyTextRecipe
from tf_transformer.recipe.classify_vectors import ClassifyVectorsRecipe
from tf_transformer.recipe.data_section import Data
from tf_transformer.recipe.differences import differences
from tf_transformer.recipe.digest import recipe_digest
from tf_transformer.recipe.generate import GenerateRecipe
from tf_transformer.recipe.model_section import Model
from tf_transformer.recipe.overrides import short_overrides
from tf_transformer.recipe.reader import load_recipe
from tf_transformer.recipe.recorded import changed_keys, portable
from tf_transformer.recipe.schedules import (
    Constant,
    Cosine,
    Exponential,
    InverseSqrt,
    Linear,
    Noam,
    Schedule,
)
from tf_transformer.recipe.schema import RECIPES, recipe_class
from tf_transformer.recipe.text import (
    commented_recipe,
    data_files,
    dump_recipe,
    json_schema,
    with_files,
)
from tf_transformer.recipe.text_section import Text
from tf_transformer.recipe.training_section import Divergence, EarlyStopping, Optimizer, Training
from tf_transformer.recipe.translate import TranslateRecipe

__all__ = [
    "RECIPES",
    "Change",
    "Changes",
    "ClassifyImagesRecipe",
    "ClassifyTextRecipe",
    "ClassifyVectorsRecipe",
    "Constant",
    "Cosine",
    "Data",
    "Divergence",
    "EarlyStopping",
    "Evaluation",
    "Exponential",
    "FileRecord",
    "GenerateRecipe",
    "InverseSqrt",
    "Linear",
    "Model",
    "Noam",
    "Optimizer",
    "Recipe",
    "Schedule",
    "Text",
    "Training",
    "TranslateRecipe",
    "changed_keys",
    "commented_recipe",
    "compare_recipes",
    "data_files",
    "differences",
    "dump_recipe",
    "json_schema",
    "load_recipe",
    "portable",
    "recipe_class",
    "recipe_digest",
    "short_overrides",
    "with_files",
]
