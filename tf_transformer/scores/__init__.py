"""Scores of finished answers."""

from tf_transformer.scores.classification import ClassificationScores, ClassScore, score_labels
from tf_transformer.scores.translation import TranslationScores, exact_match, score_translations

__all__ = [
    "ClassScore",
    "ClassificationScores",
    "TranslationScores",
    "exact_match",
    "score_labels",
    "score_translations",
]
