"""SavedModels: a task as a folder that takes strings and gives answers, anywhere TensorFlow runs.

::

    DIR/<version>/
      saved_model.pb  variables/  assets/  fingerprint.pb
      manifest.json        what it is, what it needs, and that it was verified

A version is written aside, verified in a clean process, and only then renamed into place.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.export.verification import verify
from tf_transformer.files import sync_folder
from tf_transformer.manifest import Manifest, export_fault, file_sizes, next_version, write_manifest
from tf_transformer.tasks.task import Task


def export_saved_model(
    task: Task, folder: Path, *, samples: Sequence[Any], facts: Mapping[str, Any]
) -> tuple[Path, Manifest]:
    """Writes ``task`` as the next version under ``folder``, verified in a clean process.

    Args:
        task: A trained task in float32.
        folder: The export's folder; versions are its numbered subfolders.
        samples: Examples that the reloaded model must answer as the task does.
        facts: Fields of the manifest that the run knows (versions, recipe digest, checkpoint, …).

    Returns:
        The folder of the new version, and its manifest.

    Raises:
        ExportError: When the folder cannot be written or the reloaded model answers differently;
            nothing is left behind then.
    """
    if fault := export_fault(folder):
        raise ExportError(fault)
    version, is_new = next_version(folder), not folder.exists()
    aside = folder / f".{version}.writing"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        signatures = _save(task, aside)
        modules: tuple[Literal["tensorflow_text"], ...] = ("tensorflow_text",) if task.custom_ops else ()
        report = verify(aside, task.trial(samples), modules)
        manifest = Manifest(
            task=task.TASK,
            signatures=signatures,
            **task.manifest_facts(),
            custom_ops=tuple(report.custom_ops),
            python_modules=modules,
            files=file_sizes(aside),
            verification=report.summary,
            **facts,
        )
        write_manifest(aside, manifest)
        sync_folder(aside)
        aside.rename(folder / str(version))
        sync_folder(folder)
    except OSError as error:
        raise ExportError(f"{folder}: cannot write the export ({error})") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # only an empty folder can be removed: one where the export failed
                folder.rmdir()
    return folder / str(version), manifest


def _save(task: Task, folder: Path) -> tuple[str, ...]:
    try:
        return task.export(folder)
    except tf.errors.OpError as error:  # what TensorFlow says of a disk that is full or cannot be written
        raise OSError(str(error)) from None
