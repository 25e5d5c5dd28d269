"""Several runs of one task as one that answers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tf_transformer.build.run import LoadedRun
from tf_transformer.errors import RunError
from tf_transformer.models.ensemble import Ensemble
from tf_transformer.tasks import Translator


def together(first: LoadedRun, others: Sequence[LoadedRun]) -> LoadedRun:
    """The first run with the mean of all runs' probabilities; its search, and its text side.

    Args:
        first: A run of a translation.
        others: Others with the same pieces.

    Raises:
        RunError: When one is of another task, or has other pieces, or reads text another way.
    """
    runs = [first, *others]
    for run in runs:
        if not isinstance(run.task, Translator):
            raise RunError(f"{run.folder.path}: an ensemble is of translators, and this is none")
    sides = [_text_side(run.task) for run in runs]
    for run, side in zip(others, sides[1:], strict=True):
        if side != sides[0]:
            raise RunError(
                f"{run.folder.path}: an ensemble needs one tokenizer, and this one's differs from that of "
                f"{first.folder.path}"
            )
    model: Any = Ensemble([run.task.model for run in runs])
    length = min(run.task.max_source_length for run in runs)
    task = Translator(model, first.task.preprocessor, first.task.options, max_source_length=length)
    notes = tuple(f"{run.folder.path}: checkpoint {run.checkpoint}, in the ensemble" for run in others)
    return replace(first, task=task, notes=(*first.notes, *(n for run in others for n in run.notes), *notes))


def _text_side(task: Translator) -> tuple[Any, ...]:
    """All that makes ids of text, and text of ids."""
    side = task.preprocessor
    files = [(one.options, one.model_files()) for one in (side.source_tokenizer, side.target_tokenizer)]
    return (
        side.source_tokens,
        side.target_tokenizer.tokens,
        side.normalizer.options,
        side.source_form.options,
        side.source_end,
        files,
    )
