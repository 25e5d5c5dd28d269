"""From a folder to what answers: one line a task."""

from pathlib import Path

from tf_transformer.build import load_run
from tf_transformer.cli.classification import TextClassificationFace
from tf_transformer.cli.generation import GenerationFace
from tf_transformer.cli.image_classification import ImageClassificationFace
from tf_transformer.cli.task_face import TaskFace
from tf_transformer.cli.translation import TranslationFace
from tf_transformer.cli.vector_classification import VectorClassificationFace
from tf_transformer.export.loading import load_export
from tf_transformer.manifest import is_export

FACES: dict[str, type[TaskFace]] = {
    "translate": TranslationFace,
    "classify_text": TextClassificationFace,
    "generate": GenerationFace,
    "classify_images": ImageClassificationFace,
    "classify_vectors": VectorClassificationFace,
}


def open_answering(path: Path, checkpoint: str | None) -> TaskFace:
    """Opens a run, or an export where there is no run.

    Raises:
        ProjectError: When it is neither, or cannot be read.
    """
    if is_export(path):
        exported = load_export(path)
        return FACES[exported.manifest.task](exported)
    run = load_run(path, checkpoint or "best")
    return FACES[run.recipe.task](run)
