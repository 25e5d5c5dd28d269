"""How good a task is: one evaluator for validation, for the end of training and for ``evaluate``."""

from tf_transformer.evaluation.evaluator import Evaluated, EvaluationSet, Evaluator, Sample
from tf_transformer.evaluation.measure import Measure
from tf_transformer.evaluation.outcome import Outcome, over_sets

__all__ = ["Evaluated", "EvaluationSet", "Evaluator", "Measure", "Outcome", "Sample", "over_sets"]
