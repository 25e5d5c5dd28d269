"""Several sets of one split, evaluated one after the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tf_transformer.evaluation.evaluator import Evaluated, EvaluationSet, Pictures, Sample


@dataclass(frozen=True)
class Outcome:
    """What the sets of a split have given.

    Args:
        figures: Named after the split: ``val_bleu`` is the first set's, ``val_more_bleu`` that of a further
            one, ``more``.
        samples: Some examples of the first set with their answers.
        signatures: Named as the figures that they belong to.
        sets: What was found out about each set.
        pictures: What can be drawn of the first set.
    """

    figures: dict[str, float]
    samples: Sequence[Sample] = ()
    signatures: dict[str, str] = field(default_factory=dict)
    sets: Sequence[Evaluated] = ()
    pictures: Pictures = field(default_factory=dict)


def over_sets(
    sets: Sequence[EvaluationSet], evaluate: Callable[[EvaluationSet], Evaluated], split: str
) -> Outcome:
    """Evaluates sets and names their figures.

    Args:
        sets: The sets of a split; the first one's figures stand for the split.
        evaluate: Evaluates one.
        split: ``val`` or ``test``.
    """
    figures: dict[str, float] = {}
    signatures: dict[str, str] = {}
    found = []
    for number, one in enumerate(sets):
        evaluated = evaluate(one)
        prefix = "" if not one.name else f"{split}_" if number == 0 else f"{split}_{one.name}_"
        figures |= {f"{prefix}{name}": value for name, value in evaluated.figures.items()}
        signatures |= {f"{prefix}{name}": value for name, value in evaluated.signatures.items()}
        found.append(evaluated)
    if not found:
        return Outcome(figures)
    return Outcome(figures, found[0].samples, signatures, found, found[0].pictures)
