"""A trained translator behind one face, be it a run or an exported model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import typer

from tf_transformer.build import LoadedRun, load_run
from tf_transformer.errors import counted
from tf_transformer.export.loading import ExportedTranslator, load_export
from tf_transformer.manifest import is_export
from tf_transformer.tasks import Hypothesis
from tf_transformer.text import Normalizer


class Answering(Protocol):
    """What ``predict`` and ``evaluate`` need."""

    name: str
    """The model and checkpoint, for a person."""
    tokenize: str
    """sacreBLEU's tokenizer that its recipe measures with."""
    notes: Sequence[str]
    """What was odd when it was read, for a person."""

    def answer(
        self, texts: Sequence[str], num_answers: int, search: dict[str, Any]
    ) -> list[list[Hypothesis]]:
        """The best ``num_answers`` translations of each text, best first."""

    def count_cut(self, texts: Sequence[str]) -> int:
        """How many texts are too long and lose their end."""

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """References as the model's own text is normalised."""


class RunAnswers:
    """The answers of a run's checkpoint."""

    def __init__(self, loaded: LoadedRun) -> None:
        self.loaded = loaded
        updates = counted(loaded.step, "update")
        self.name = f"{loaded.folder.path}: checkpoint {loaded.checkpoint}, {updates}"
        self.tokenize: str = loaded.recipe.evaluation.tokenize
        self.notes: Sequence[str] = loaded.notes

    def answer(
        self, texts: Sequence[str], num_answers: int, search: dict[str, Any]
    ) -> list[list[Hypothesis]]:
        """See :class:`Answering`."""
        return self.loaded.task.n_best(texts, num_answers, **search)

    def count_cut(self, texts: Sequence[str]) -> int:
        """See :class:`Answering`."""
        return self.loaded.task.count_cut(texts)

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """See :class:`Answering`."""
        return self.loaded.task.preprocessor.normalizer.normalize_texts(texts)


class ExportAnswers:
    """The answers of a SavedModel; it searches as it was exported."""

    def __init__(self, exported: ExportedTranslator) -> None:
        self.exported = exported
        manifest = exported.manifest
        self.name = f"{exported.folder}: exported checkpoint {manifest.checkpoint or 'of unknown name'}"
        self.tokenize = manifest.tokenize
        self.notes: Sequence[str] = ()
        self._normalizer = Normalizer(manifest.normal_form, manifest.lowercase)

    def answer(
        self, texts: Sequence[str], num_answers: int, search: dict[str, Any]
    ) -> list[list[Hypothesis]]:
        """See :class:`Answering`; an export searches as it was exported."""
        if num_answers == 1:
            return self.exported.best(texts)
        found = self.exported.n_best(texts)
        width = min(map(len, found), default=num_answers)
        if num_answers > width:
            raise typer.BadParameter(f"--n-best must be at most {width}, the beam of the export")
        return [hypotheses[:num_answers] for hypotheses in found]

    def count_cut(self, texts: Sequence[str]) -> int:
        """An export does not say what it cuts."""
        return 0

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """See :class:`Answering`."""
        return self._normalizer.normalize_texts(texts)


def open_answering(path: Path, checkpoint: str | None) -> RunAnswers | ExportAnswers:
    """Opens a run, or an export where there is no run.

    Raises:
        ProjectError: When it is neither, or cannot be read.
    """
    if not is_export(path):
        return RunAnswers(load_run(path, checkpoint or "best"))
    return ExportAnswers(load_export(path))
