"""How a CTranslate2 model is tried: its answers, and how likely it finds those of the run.

Greedy search, and the recipe's beam without a length penalty, find the same answer by any right program, but
where two pieces tie within rounding. Such near-ties are listed in the manifest. With a length penalty the
searches stop by different rules; how often they agree then is stated, and refuses nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tf_transformer.errors import ExportError
from tf_transformer.export.stored_weights import TOLERANCES, demand_tolerable
from tf_transformer.presets import WeightKind
from tf_transformer.tasks.translation_trial import SCORE_TOLERANCE, close, trial_texts

MAY_DIFFER = 0.005
"""The share of answers in float32 that near-ties may change; of few, one."""
_LISTED = 20


@dataclass(frozen=True)
class Difference:
    """An answer that is another one than the run's.

    Args:
        source: The sentence.
        beam: Of the search.
        run: The run's answer.
        export: The export's.
        run_log_probability: Of the run's answer, by the run.
        export_log_probability: Of the export's answer, by the run, too.
    """

    source: str
    beam: int
    run: str
    export: str
    run_log_probability: float
    export_log_probability: float


def verify_answers(task: Any, export: Any, samples: Sequence[str], weights: WeightKind) -> dict[str, Any]:
    """Compares an export with the translator that it was made of.

    Args:
        task: The translator in memory.
        export: A `CTranslate2Translator`.
        samples: Source sentences, with their tags where the translator has tags.
        weights: How the export's weights are stored: of float32 the same answers are demanded.

    Returns:
        What the manifest says of it.

    Raises:
        ExportError: When answers differ by more than near-ties, or probabilities by more than rounding.
    """
    texts = trial_texts(samples, task.preprocessor.source_form)
    expected = task.translate(texts)
    moved = _moved(task, export, texts, expected)
    beams = sorted({1, task.options.beam_size})
    differences = [one for beam in beams for one in differing(task, export, texts, beam)]
    if weights == "float32":
        _demand_close(texts, expected, moved)
        _demand_same(differences, len(texts))
    tolerance = TOLERANCES.get(weights, SCORE_TOLERANCE)
    mean = float(np.mean([abs(ours - theirs) / size for ours, theirs, size in moved]))
    demand_tolerable(mean, tolerance, weights, of="log-probabilities a piece ")
    same = sum(ours == theirs for ours, theirs in zip(expected, export.translate(texts), strict=True))
    return {
        "sentences": len(texts),
        "same_by_the_recipe": same,
        "beams": beams,
        "log_probabilities_a_piece": {"mean_difference": mean, "tolerance": tolerance},
        "different": [asdict(one) for one in differences[:_LISTED]],
        "num_different": len(differences),
        "equal": not differences,
    }


def differing(task: Any, export: Any, texts: Sequence[str], beam: int) -> list[Difference]:
    """The sentences that two translators answer otherwise, by a beam and without a length penalty."""
    search = {"beam_size": beam, "length_penalty": 0.0}
    pairs = zip(texts, task.translate(texts, **search), export.translate(texts, **search), strict=True)
    other = [(text, ours, theirs) for text, ours, theirs in pairs if ours != theirs]
    if not other:
        return []
    sources, ours, theirs = map(list, zip(*other, strict=True))
    logs = [[one.log_probability for one in task.score(sources, side)] for side in (ours, theirs)]
    rows = zip(sources, ours, theirs, *logs, strict=True)
    return [Difference(source, beam, *rest) for source, *rest in rows]


def _moved(
    task: Any, export: Any, texts: Sequence[str], answers: Sequence[str]
) -> list[tuple[float, float, int]]:
    """The log-probability of each answer by the run and by the export, and its pieces with the end."""
    ours, theirs = task.score(texts, answers), export.score(texts, answers)
    return [
        (one.log_probability, other.log_probability, len(one.details.log_probabilities))
        for one, other in zip(ours, theirs, strict=True)
    ]


def _demand_close(
    texts: Sequence[str], answers: Sequence[str], moved: Sequence[tuple[float, float, int]]
) -> None:
    for text, answer, (ours, theirs, _) in zip(texts, answers, moved, strict=True):
        if not close(theirs, ours):
            raise ExportError(
                f"the exported model scores differently, so it was not kept: {answer!r} for {text!r} has "
                f"the log-probability {ours:.4f} in the run and {theirs:.4f} in the export"
            )


def _demand_same(differences: Sequence[Difference], count: int) -> None:
    for beam in {one.beam for one in differences}:
        found = [one for one in differences if one.beam == beam]
        if len(found) > max(1, int(MAY_DIFFER * count)):
            one = found[0]
            raise ExportError(
                f"the exported model answers {len(found)} of {count} sentences differently with a beam of "
                f"{beam}, so it was not kept: {one.source!r} gives {one.run!r} "
                f"({one.run_log_probability:.4f}) in the run and {one.export!r} "
                f"({one.export_log_probability:.4f}) in the export"
            )
