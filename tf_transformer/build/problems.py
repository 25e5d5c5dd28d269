"""Which problem a recipe is: one line a task."""

from typing import Any

from tf_transformer.build.image_classification import ImageClassificationProblem
from tf_transformer.build.language_modelling import LanguageModellingProblem
from tf_transformer.build.prepared_translation import PreparedTranslationProblem
from tf_transformer.build.problem import Problem
from tf_transformer.build.text_classification import TextClassificationProblem
from tf_transformer.build.translation import TranslationProblem
from tf_transformer.build.vector_classification import VectorClassificationProblem
from tf_transformer.recipe import Recipe

PROBLEMS: dict[str, type[Problem[Any]]] = {
    "translate": TranslationProblem,
    "classify_text": TextClassificationProblem,
    "generate": LanguageModellingProblem,
    "classify_images": ImageClassificationProblem,
    "classify_vectors": VectorClassificationProblem,
}
PREPARED: dict[str, type[Problem[Any]]] = {"translate": PreparedTranslationProblem}
"""The same for recipes that name prepared data."""


def problem_of(recipe: Recipe) -> Problem[Any]:
    """What a recipe asks to be learnt."""
    problems = PROBLEMS if getattr(recipe.data, "prepared", None) is None else PREPARED
    return problems[recipe.task](recipe)
