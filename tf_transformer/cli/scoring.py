"""Figures of whole sets for ``evaluate``."""

from collections.abc import Sequence
from typing import Any

from tf_transformer.cli.progress import progress
from tf_transformer.errors import counted
from tf_transformer.evaluation import Evaluated, EvaluationSet, Evaluator, Outcome, over_sets


def score(evaluator: Evaluator, sets: Sequence[EvaluationSet], split: str, unit: str, quiet: bool) -> Outcome:
    """Evaluates sets, and shows how far that has come.

    Args:
        evaluator: Of the task.
        sets: The sets of a split, or one without a name.
        split: What figures are named after.
        unit: What an example is called.
        quiet: Show nothing.
    """

    def evaluate(found: EvaluationSet) -> Evaluated:
        with progress(f"{unit}s", quiet, total=len(found)) as advance:
            return evaluator.full(found, advance)

    return over_sets(sets, evaluate, split)


def titled(found: EvaluationSet, unit: str) -> str:
    """The line above a set's figures."""
    return f"{found.name or 'given files'}: {counted(len(found), unit)}"


def report(model: str, outcome: Outcome) -> dict[str, Any]:
    """The figures for programs, named as in ``results.json``: ``test_bleu`` is the first set's."""
    return {"model": model, "metrics": outcome.figures, "signatures": outcome.signatures}
