"""A trained translator behind one face, be it a run or an exported model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf
import typer

from tf_transformer.build import LoadedRun, load_run
from tf_transformer.errors import ExportError
from tf_transformer.export.saved_model import newest_version
from tf_transformer.manifest import read_manifest

_TEXTS_AT_ONCE = 64


@dataclass(frozen=True)
class Answer:
    """One translation; what an export does not say is None."""

    text: str
    score: float
    log_probability: float | None
    finished: bool | None


class Answering(Protocol):
    """What ``predict`` and ``evaluate`` need."""

    name: str
    """The model and checkpoint, for a person."""

    def answer(self, texts: Sequence[str], num_answers: int, search: dict[str, Any]) -> list[list[Answer]]:
        """The best ``num_answers`` translations of each text, best first."""

    def count_cut(self, texts: Sequence[str]) -> int:
        """How many texts are too long and lose their end."""

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """References as the model's own text is normalised."""


class RunAnswers:
    """The answers of a run's checkpoint."""

    def __init__(self, loaded: LoadedRun) -> None:
        self.loaded = loaded
        self.name = f"{loaded.folder.path}: checkpoint {loaded.checkpoint}, {loaded.step} updates"

    def answer(self, texts: Sequence[str], num_answers: int, search: dict[str, Any]) -> list[list[Answer]]:
        """See :class:`Answering`."""
        found = self.loaded.task.n_best(texts, **search)
        return [
            [Answer(h.text, h.score, h.log_probability, h.finished) for h in hypotheses[:num_answers]]
            for hypotheses in found
        ]

    def count_cut(self, texts: Sequence[str]) -> int:
        """See :class:`Answering`."""
        return self.loaded.task.count_cut(texts)

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """See :class:`Answering`."""
        return self.loaded.task.preprocessor.normalizer.normalize_texts(list(texts))


class ExportAnswers:
    """The answers of a SavedModel; it searches as it was exported."""

    def __init__(self, version: Path) -> None:
        manifest = read_manifest(version)
        if "tensorflow_text" in manifest.python_modules:
            import tensorflow_text  # noqa: F401  # brings the ops of the tokenizer
        try:
            self._model = tf.saved_model.load(str(version))
        except (OSError, ValueError) as error:
            raise ExportError(f"{version}: cannot be loaded ({error})") from None
        self.name = f"{version}: exported checkpoint {manifest.checkpoint or 'of unknown name'}"

    def answer(self, texts: Sequence[str], num_answers: int, search: dict[str, Any]) -> list[list[Answer]]:
        """See :class:`Answering`."""
        if search:
            raise typer.BadParameter(
                "an exported model searches as it was exported; search options are for runs"
            )
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        answers: list[list[Answer]] = [[]] * len(texts)
        for start in range(0, len(order), _TEXTS_AT_ONCE):
            rows = order[start : start + _TEXTS_AT_ONCE]
            batch = tf.constant([texts[row] for row in rows], tf.string)
            for row, found in zip(rows, self._batch(batch, num_answers), strict=True):
                answers[row] = found
        return answers

    def _batch(self, texts: tf.Tensor, num_answers: int) -> list[list[Answer]]:
        if num_answers == 1:
            found = {
                name: value.numpy()
                for name, value in self._model.signatures["serving_default"](text=texts).items()
            }
            columns = (found["text"], found["score"], found["log_probability"])
            return [
                [Answer(text.decode(errors="replace"), float(score), float(log_probability), None)]
                for text, score, log_probability in zip(*columns, strict=True)
            ]
        found = {name: value.numpy() for name, value in self._model.signatures["n_best"](text=texts).items()}
        width = found["text"].shape[1]
        if num_answers > width:
            raise typer.BadParameter(f"--n-best must be at most {width}, the beam of the export")
        return [
            [
                Answer(text.decode(errors="replace"), float(score), None, None)
                for text, score in zip(row[:num_answers], scores[:num_answers], strict=True)
            ]
            for row, scores in zip(found["text"], found["score"], strict=True)
        ]

    def count_cut(self, texts: Sequence[str]) -> int:
        """An export does not say what it cuts."""
        return 0

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """An export keeps its normaliser to itself; white space is what is left to be made even."""
        return [" ".join(text.split()) for text in texts]


def open_answering(path: Path, checkpoint: str | None) -> RunAnswers | ExportAnswers:
    """Opens a run, or an export where there is no run.

    Raises:
        ProjectError: When it is neither, or cannot be read.
    """
    is_export = (path / "saved_model.pb").is_file() or any(path.glob("[0-9]*/saved_model.pb"))
    if not is_export:
        return RunAnswers(load_run(path, checkpoint or "best"))
    if checkpoint is not None:
        raise typer.BadParameter("an exported model holds one checkpoint; --checkpoint is for runs")
    return ExportAnswers(newest_version(path))
