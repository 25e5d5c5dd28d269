"""An exported folder as something that translates: no model code, only what the SavedModel holds."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.manifest import Manifest, newest_version, read_manifest
from tf_transformer.tasks.translate import Hypothesis

TEXTS_AT_ONCE = 64
_MOST_LETTERS = 300


@dataclass(frozen=True)
class ExportedTranslator:
    """A SavedModel that translates; its search options were fixed when it was exported.

    Args:
        folder: The version's folder.
        manifest: Its manifest.
        signatures: Its signatures by name.
    """

    folder: Path
    manifest: Manifest
    signatures: Any

    def translate(self, texts: Sequence[str]) -> list[str]:
        """The best translation of each text, in order."""
        return [hypotheses[0].text for hypotheses in self.best(texts)]

    def best(self, texts: Sequence[str]) -> list[list[Hypothesis]]:
        """The best hypothesis of each text, in a list of one."""
        answers = self._run("serving_default", texts, ("text", "score", "log_probability"))
        return [[Hypothesis(text, score, logp, None)] for text, score, logp in answers]

    def n_best(self, texts: Sequence[str]) -> list[list[Hypothesis]]:
        """All hypotheses of the exported beam, with what the signature says of them."""
        answers = self._run("n_best", texts, ("text", "score"))
        return [
            [Hypothesis(text, score, None, None) for text, score in zip(*row, strict=True)] for row in answers
        ]

    def _run(self, signature: str, texts: Sequence[str], names: Sequence[str]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        # Of similar length together, so that short ones need not wait for long ones.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), TEXTS_AT_ONCE):
            batch = [texts[place] for place in order[start : start + TEXTS_AT_ONCE]]
            try:
                outputs = self.signatures[signature](text=tf.constant(batch, tf.string))
                rows += zip(*(_plain(outputs[name].numpy().tolist()) for name in names), strict=True)
            except (tf.errors.OpError, KeyError, TypeError, ValueError) as error:
                raise ExportError(f"{self.folder}: {signature} cannot be run ({_reason(error)})") from None
        answers: list[tuple[Any, ...]] = [()] * len(texts)
        for place, row in zip(order, rows, strict=True):
            answers[place] = row
        return answers


def load_export(path: Path) -> ExportedTranslator:
    """Loads the newest version under an exported folder, or the version that ``path`` is.

    Raises:
        ExportError: When there is none, or TensorFlow cannot load it.
    """
    folder = newest_version(path)
    manifest = read_manifest(folder)
    try:
        for module in manifest.python_modules:
            importlib.import_module(module)
        model = tf.saved_model.load(str(folder))
        signatures = model.signatures
    except Exception as error:  # TensorFlow raises almost anything at files that were cut or altered
        raise ExportError(f"{folder}: cannot be loaded ({_reason(error)})") from None
    for name in ("serving_default", "n_best"):
        if name not in signatures:
            raise ExportError(f"{folder}: has no signature {name}, so it is no translator of this package")
    return ExportedTranslator(folder, manifest, signatures)


def _reason(error: Exception) -> str:
    """What TensorFlow says, on one line and not by the page."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]} …"


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
