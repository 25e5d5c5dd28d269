"""Recipes: the one YAML file that determines a run, its schema, its reader and its text forms."""

from tf_transformer.recipe.changes import Change, Changes, compare_recipes
from tf_transformer.recipe.entries import (
    EvaluationEntry,
    EvaluationFiles,
    EvaluationTable,
    TrainEntry,
    TrainFiles,
    TrainTable,
)
from tf_transformer.recipe.overrides import short_overrides
from tf_transformer.recipe.reader import load_recipe
from tf_transformer.recipe.rules import replaced, warnings_of
from tf_transformer.recipe.schedules import (
    Constant,
    Cosine,
    Exponential,
    InverseSqrt,
    Linear,
    Noam,
    Schedule,
)
from tf_transformer.recipe.schema import (
    Data,
    Decoding,
    EarlyStopping,
    Evaluation,
    FileRecord,
    Model,
    Optimizer,
    Recipe,
    Text,
    Training,
)
from tf_transformer.recipe.text import (
    commented_recipe,
    data_files,
    dump_recipe,
    json_schema,
    recipe_digest,
    with_files,
)

__all__ = [
    "Change",
    "Changes",
    "Constant",
    "Cosine",
    "Data",
    "Decoding",
    "EarlyStopping",
    "Evaluation",
    "EvaluationEntry",
    "EvaluationFiles",
    "EvaluationTable",
    "Exponential",
    "FileRecord",
    "InverseSqrt",
    "Linear",
    "Model",
    "Noam",
    "Optimizer",
    "Recipe",
    "Schedule",
    "Text",
    "TrainEntry",
    "TrainFiles",
    "TrainTable",
    "Training",
    "commented_recipe",
    "compare_recipes",
    "data_files",
    "dump_recipe",
    "json_schema",
    "load_recipe",
    "recipe_digest",
    "replaced",
    "short_overrides",
    "warnings_of",
    "with_files",
]
