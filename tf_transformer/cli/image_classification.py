"""Pictures on the command line: a line in is the path of a picture, a line out its label."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tf_transformer.cli.example_classification import ExampleFace
from tf_transformer.data.image_form import ImageForm
from tf_transformer.data.images import decoded_file, encoded_folder, read_image, read_image_folder
from tf_transformer.data.labelled import LabelledCorpus
from tf_transformer.errors import DataError
from tf_transformer.export.loading import ExportedModel
from tf_transformer.tasks.exported_classifier import ExportedClassifier

_SHADES = " .:-=+*#%@"
_WIDEST = 64
"""Pictures up to this wide are drawn with letters."""


class ImageClassificationFace(ExampleFace):
    """A classifier of pictures."""

    UNIT: ClassVar[str] = "picture"

    def exported_task(self, found: ExportedModel) -> ExportedClassifier:
        return ExportedClassifier(found.rows, found.manifest.labels)

    @property
    def form(self) -> ImageForm:
        """The form that pictures must have, or are brought to."""
        if self.exported is not None:
            return ImageForm(**self.exported.manifest.image_form)
        form: ImageForm = self.task.side.form
        return form

    def example(self, path: Path) -> Any:
        if self.exported is None:
            return read_image(path, self.form)
        # An export reads the file itself, and says less well what is wrong with it.
        found = decoded_file(path, self.form)
        fault = found if isinstance(found, str) else self.form.fault(found.shape)
        if fault:
            raise DataError(f"{path} {fault}")
        return path.read_bytes()

    def read_folder(self, folder: Path) -> LabelledCorpus:
        corpus = read_image_folder(folder, self.form)
        return corpus if self.exported is None else encoded_folder(corpus, folder)

    @staticmethod
    def row_lines(side: Any, where: str, inputs: Any, labels: Any, row: int) -> Iterator[str]:
        pixels = np.asarray(inputs["images"][row])
        yield f"{where}: {side.labels.names[int(labels[row])]} ({int(labels[row])})"
        yield f"  {side.form}, from {pixels.min():g} to {pixels.max():g}, {pixels.mean():.1f} in the mean"
        if pixels.shape[1] <= _WIDEST:
            shades = pixels[..., :3].mean(axis=-1) / 256 * len(_SHADES)
            yield from ("  " + "".join(_SHADES[int(shade)] * 2 for shade in line) for line in shades)
