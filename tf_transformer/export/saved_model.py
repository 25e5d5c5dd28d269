"""SavedModels: a task as a folder that takes strings and returns strings, anywhere TensorFlow runs.

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
from tf_transformer.manifest import Manifest, write_manifest
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks.translate import Translator

_MOST_DIGITS = 18


def export_saved_model(
    task: Translator, folder: Path, *, samples: Sequence[str], facts: Mapping[str, Any]
) -> tuple[Path, Manifest]:
    """Writes ``task`` as the next version under ``folder``, verified in a clean process.

    Args:
        task: A trained translator in float32.
        folder: The export's folder; versions are its numbered subfolders.
        samples: Source sentences that the reloaded model must translate as the task does.
        facts: Fields of the manifest that the run knows (versions, recipe digest, checkpoint, …).

    Returns:
        The folder of the new version, and its manifest.

    Raises:
        ExportError: When the folder cannot be written or the reloaded model answers differently;
            nothing is left behind then.
    """
    if RunFolder(folder).exists():
        raise ExportError(f"{folder}: is the folder of a run; name another one for the export")
    version, is_new = next_version(folder), not folder.exists()
    aside = folder / f".{version}.writing"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        signatures = _save(task, aside)
        modules: tuple[Literal["tensorflow_text"], ...] = (
            ("tensorflow_text",) if task.preprocessor.custom_ops else ()
        )
        report = verify(aside, task, samples, modules)
        manifest = Manifest(
            task="translate",
            signatures=signatures,
            source_vocabulary_size=task.preprocessor.source_vocabulary_size,
            target_vocabulary_size=task.preprocessor.target_vocabulary_size,
            **task.preprocessor.normalizer.options,
            custom_ops=tuple(report.custom_ops),
            python_modules=modules,
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


def _save(task: Translator, folder: Path) -> tuple[str, ...]:
    try:
        return task.export(folder)
    except tf.errors.OpError as error:  # what TensorFlow says of a disk that is full or cannot be written
        raise OSError(str(error)) from None


def next_version(folder: Path) -> int:
    """One more than the highest number that anything in ``folder`` is called by, 1 where there is none."""
    if not folder.is_dir():
        return 1
    return max((int(path.name) for path in folder.iterdir() if _is_number(path.name)), default=0) + 1


def newest_version(folder: Path) -> Path:
    """The folder of the highest version of an export; ``folder`` itself when it is a version.

    Raises:
        ExportError: When there is no exported model.
    """
    if _is_model(folder):
        return folder
    versions = [path for path in folder.glob("*") if _is_number(path.name) and _is_model(path)]
    if not versions:
        raise ExportError(f"{folder}: no exported model (a folder with a numbered version) is here")
    return max(versions, key=lambda path: int(path.name))


def is_export(folder: Path) -> bool:
    """Whether a folder is an exported version, or holds one."""
    with suppress(ExportError):
        return newest_version(folder).is_dir()
    return False


def _is_model(folder: Path) -> bool:
    return (folder / "saved_model.pb").is_file()


def _is_number(name: str) -> bool:
    """Whether a name is a version to TensorFlow Serving, which counts in 64 bits."""
    return name.isascii() and name.isdecimal() and len(name) <= _MOST_DIGITS
