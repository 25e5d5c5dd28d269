"""SavedModels: a task as a folder that takes strings and gives answers, anywhere TensorFlow runs.

::

    DIR/<version>/
      saved_model.pb  variables/  assets/  fingerprint.pb
      assets.extra/tf_serving_warmup_requests
      manifest.json        what it is, what it needs, and that it was verified
      README.md            its model card

A version is written aside, verified in a clean process, and only then renamed into place.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import tensorflow as tf

from tf_transformer.export.stored_weights import StoredWeights, closeness
from tf_transformer.export.verification import verify
from tf_transformer.export.versions import Card, write_version
from tf_transformer.export.warm_up_requests import write_warm_up
from tf_transformer.manifest import Manifest, file_sizes
from tf_transformer.presets import WeightKind
from tf_transformer.tasks.task import Task


def export_saved_model(
    task: Task,
    folder: Path,
    *,
    samples: Sequence[Any],
    facts: Mapping[str, Any],
    weights: WeightKind = "float32",
    fresh: Callable[[], Task] | None = None,
    card: Card | None = None,
) -> tuple[Path, Manifest]:
    """Writes ``task`` as the next version under ``folder``, verified in a clean process.

    Args:
        task: A trained task in float32. With other ``weights`` its model is left with rounded ones.
        folder: The export's folder; versions are its numbered subfolders.
        samples: Examples that the reloaded model must answer as the task does.
        facts: Fields of the manifest that the run knows (versions, recipe digest, checkpoint, …).
        weights: How weights are stored; the graph makes float32 of them.
        fresh: Makes the task anew, around the same model; needed for other ``weights``, since graphs that
            were made already read the model's own.
        card: Makes the model card, see `model_card`; there is none without it.

    Returns:
        The folder of the new version, and its manifest.

    Raises:
        ExportError: When the folder cannot be written, rounding changes the model too much, or the reloaded
            model answers differently; nothing is left behind then.
        ValueError: When ``fresh`` is needed and missing.
    """
    if weights != "float32" and fresh is None:
        raise ValueError(f"`fresh` must be given for other weights than float32. Received: {weights}")

    def write(aside: Path) -> Manifest:
        saved = task
        rounding: dict[str, Any] = {}
        if fresh is not None and weights != "float32":
            stored = StoredWeights(task.model, weights)
            rounding = closeness(task, samples, stored.round_model, weights)
            saved = fresh()
            saved.weights = stored
        signatures = _save(saved, aside)
        modules: tuple[Literal["tensorflow_text"], ...] = ("tensorflow_text",) if task.custom_ops else ()
        trial = task.trial(samples)
        report = verify(aside, trial, modules)
        write_warm_up(aside, folder.name, trial)
        return Manifest(
            task=task.TASK,
            signatures=signatures,
            weights=weights,
            **task.manifest_facts(),
            custom_ops=tuple(report.custom_ops),
            python_modules=modules,
            files=file_sizes(aside),
            verification={**report.summary, **rounding},
            **facts,
        )

    return write_version(folder, "savedmodel", write, card)


def _save(task: Task, folder: Path) -> tuple[str, ...]:
    try:
        return task.export(folder)
    except tf.errors.OpError as error:  # what TensorFlow says of a disk that is full or cannot be written
        raise OSError(str(error)) from None
