"""Sequences of vectors on the command line: a line in is the path of one, a line out its label."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tf_transformer.build import LoadedRun
from tf_transformer.cli.example_classification import ExampleFace
from tf_transformer.data.labelled import LabelledCorpus
from tf_transformer.data.vectors import read_sequence, read_vector_folder, sequence_fault
from tf_transformer.errors import DataError, counted
from tf_transformer.export.loading import ExportedModel
from tf_transformer.tasks.exported_classifier import ExportedVectorClassifier

_MOST_SHOWN = 8


class VectorClassificationFace(ExampleFace):
    """A classifier of sequences of vectors."""

    UNIT: ClassVar[str] = "sequence"

    def __init__(self, found: LoadedRun | ExportedModel) -> None:
        super().__init__(found)
        self.cut = 0

    def exported_task(self, found: ExportedModel) -> ExportedVectorClassifier:
        return ExportedVectorClassifier(found.call, found.manifest.labels)

    @property
    def features(self) -> int:
        """Features that every vector must have."""
        features: int = self.task.side.features if self.exported is None else self.exported.manifest.features
        return features

    def example(self, path: Path) -> Any:
        found = read_sequence(path)
        if fault := sequence_fault(found, self.features):
            raise DataError(f"{path} {fault}")
        # An export does not say what it cuts.
        self.cut += self.exported is None and len(found) > self.task.side.max_length
        return found

    def remarks(self) -> Iterator[str]:
        if self.cut:
            yield f"the end of {counted(self.cut, 'sequence')} was not read: the model does not read that far"
        yield from super().remarks()

    def read_folder(self, folder: Path) -> LabelledCorpus:
        return read_vector_folder(folder, features=self.features)

    @staticmethod
    def row_lines(side: Any, where: str, inputs: Any, labels: Any, row: int) -> Iterator[str]:
        length = int(inputs["lengths"][row])
        vectors = np.asarray(inputs["vectors"][row])
        yield f"{where}: {side.labels.names[int(labels[row])]} ({int(labels[row])})"
        yield f"  {length} vectors of {side.features} features, padded to {len(vectors)}"
        for vector in vectors[: min(length, _MOST_SHOWN)]:
            more = " …" if len(vector) > _MOST_SHOWN else ""
            yield "  " + " ".join(f"{value:.4g}" for value in vector[:_MOST_SHOWN]) + more
