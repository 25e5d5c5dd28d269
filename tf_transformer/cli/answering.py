"""From a folder to what answers: one line a task."""

from collections.abc import Sequence
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tf_transformer.build import load_run
from tf_transformer.build.ensemble import together
from tf_transformer.cli.classification import TextClassificationFace
from tf_transformer.cli.generation import GenerationFace
from tf_transformer.cli.image_classification import ImageClassificationFace
from tf_transformer.cli.task_face import TaskFace
from tf_transformer.cli.translation import TranslationFace
from tf_transformer.cli.vector_classification import VectorClassificationFace
from tf_transformer.devices import open_devices
from tf_transformer.errors import ExportError
from tf_transformer.export.loading import load_export
from tf_transformer.manifest import is_export, newest_version, read_manifest
from tf_transformer.tasks.batches import share_cores

FACES: dict[str, type[TaskFace]] = {
    "translate": TranslationFace,
    "classify_text": TextClassificationFace,
    "generate": GenerationFace,
    "classify_images": ImageClassificationFace,
    "classify_vectors": VectorClassificationFace,
}


def open_answering(
    path: Path, checkpoint: str | None, ensemble: Sequence[Path] = (), devices: str | None = None
) -> TaskFace:
    """Opens a run, or an export where there is no run.

    Args:
        path: Its folder.
        checkpoint: Of the run; None for the best.
        ensemble: Further runs that answer together with it, each by the checkpoint of that name.

        devices: What a run's batches are spread over, as ``training.devices`` names it; None for one device.

    Raises:
        ProjectError: When one is neither, or cannot be read; when those of an ensemble do not fit together;
            when devices are not there.
    """
    if is_export(path):
        share_cores()
        exported = _exported(path)
        return FACES[exported.manifest.task](exported)
    spread = None if devices is None else open_devices(devices, named="--devices")
    with nullcontext() if spread is None else spread.scope():
        run = load_run(path, checkpoint or "best")
        others = [load_run(other, checkpoint or "best") for other in ensemble]
    return FACES[run.recipe.task](together(run, others) if others else run)


def _exported(path: Path) -> Any:
    """An export, by what runs it."""
    folder = newest_version(path)
    if read_manifest(folder).kind == "savedmodel":
        return load_export(folder, at_need=True)
    if find_spec("ctranslate2") is None:
        raise ExportError(f"{folder}: needs ctranslate2: pip install 'tf-transformer[ctranslate2]'")
    from tf_transformer.export.ctranslate2_model import load_ctranslate2

    return load_ctranslate2(folder)
