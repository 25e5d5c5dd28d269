"""Classification by a SavedModel: no model code, only what its signature says."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tf_transformer.tasks.classification import Answer, answers_of
from tf_transformer.tasks.classify_vectors import padded_batches
from tf_transformer.tasks.exported import Call, Rows


class ExportedClassifier:
    """Gives labels by a SavedModel.

    Args:
        rows: Runs a signature on examples.
        labels: Those of its manifest.
    """

    def __init__(self, rows: Rows, labels: Sequence[str]) -> None:
        self.rows = rows
        self.labels = tuple(labels)

    def classify(self, examples: Sequence[Any]) -> list[str]:
        """The most probable label of each example, in order; empty for one that has no answer."""
        return [answer.label for answer in self.answers(examples)]

    def answers(self, examples: Sequence[Any]) -> list[Answer]:
        """The label of each example with its probability, and the probabilities of all labels."""
        return answers_of(self._probabilities(examples), self.labels)

    def log_probabilities(self, examples: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The natural logs of the probabilities of all labels, ``[N, C]``."""
        with np.errstate(divide="ignore"):  # minus infinity is what no probability is
            logs: np.ndarray[Any, np.dtype[np.float32]] = np.log(self._probabilities(examples))
        return logs

    def _probabilities(self, examples: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
        found = self.rows("serving_default", list(examples), ("probabilities",))
        return np.array([row for (row,) in found], np.float32).reshape(-1, len(self.labels))


class ExportedVectorClassifier(ExportedClassifier):
    """Gives labels to sequences of vectors by a SavedModel.

    Args:
        call: Calls a signature with arrays by name.
        labels: Those of its manifest.
    """

    def __init__(self, call: Call, labels: Sequence[str]) -> None:
        self.call = call
        self.labels = tuple(labels)

    def _probabilities(self, examples: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
        found = np.zeros((len(examples), len(self.labels)), np.float32)
        for places, batch in padded_batches(examples):
            found[places] = self.call("serving_default", batch)["probabilities"]
        return found
