"""Classification of sequences of vectors, such as audio features or series of sensors.

Shapes: B sequences, T vectors, F features, C labels.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.data.example_preprocessor import VectorPreprocessor
from tf_transformer.data.vectors import Sequence32, read_sequence, sequence_fault
from tf_transformer.errors import DataError
from tf_transformer.models import Classifier
from tf_transformer.replicas import OnDevices
from tf_transformer.tasks.batches import batches_by_length
from tf_transformer.tasks.classification import Answer, answered, answers_of, compare_answers
from tf_transformer.tasks.classifier_task import ClassifierTask
from tf_transformer.tasks.task import Call, Inputs, Trial

VECTORS_AT_ONCE = 8192
"""Positions, padding included, that one batch of sequences has."""

Series = str | os.PathLike[str] | np.ndarray[Any, Any]
"""The path of a file, or an array `[T, F]`."""


class VectorClassifier(ClassifierTask):
    """Gives labels to sequences of vectors with a trained model.

    Args:
        model: A ``Classifier`` over a ``VectorEmbedding``.
        preprocessor: What it was trained with.

    Raises:
        ValueError: When model and preprocessor have not equally many labels.

    Example:

    >>> classifier = VectorClassifier(model, preprocessor)  # doctest: +SKIP
    >>> classifier.classify(["morning.npy"])  # doctest: +SKIP
    ['walking']
    """

    TASK = "classify_vectors"

    def __init__(self, model: Classifier, preprocessor: VectorPreprocessor) -> None:
        super().__init__("vector_classifier", model, preprocessor)
        self._logits = OnDevices(
            lambda vectors, lengths: model({"vectors": vectors, "lengths": lengths}, training=False),
            model,
            _signature(preprocessor.features),
        )

    def classify(self, sequences: Sequence[Series]) -> list[str]:
        """The most probable label of each sequence, in order.

        Args:
            sequences: Paths of files, or arrays ``[T, F]``.

        Raises:
            DataError: When one cannot be read, or has other features than the model's; names it and the rule.
        """
        return [answer.label for answer in self.answers(sequences)]

    def answers(self, sequences: Sequence[Series]) -> list[Answer]:
        """The label of each sequence with its probability, and the probabilities of all labels.

        Args:
            sequences: As for ``classify``.
        """
        read = [self.read(sequence, number) for number, sequence in enumerate(sequences, start=1)]
        return answers_of(np.exp(self.log_probabilities(read)), self.labels)

    def read(self, sequence: Series, number: int = 1) -> Sequence32:
        """A sequence as the model gets it, float32 ``[T, F]``.

        Args:
            sequence: As for ``classify``.
            number: What it is called where it has no path.
        """
        name = f"sequence {number}" if isinstance(sequence, np.ndarray) else os.fspath(sequence)
        found = sequence if isinstance(sequence, np.ndarray) else read_sequence(Path(sequence))
        if fault := sequence_fault(found, self.preprocessor.features):
            raise DataError(f"{name} {fault}")
        return found.astype(np.float32)

    def log_probabilities(self, sequences: Sequence[Sequence32]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The natural logs of the probabilities of all labels, float32 ``[N, C]``.

        Args:
            sequences: Arrays ``[T, F]``.
        """
        found = np.zeros((len(sequences), len(self.labels)), np.float32)
        batches = list(padded_batches([one[: self.preprocessor.max_length] for one in sequences]))
        padded = (tuple(map(tf.constant, (batch["vectors"], batch["lengths"]))) for _, batch in batches)
        for (places, _), logits in zip(batches, self._logits.map(padded), strict=True):
            found[places] = tf.nn.log_softmax(logits).numpy()
        return found

    def answer(self, vectors: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        """Sequences to labels inside one graph: what a SavedModel runs.

        Args:
            vectors: Float32 ``[B, T, F]``; what is behind the end of a sequence does not count.
            lengths: int32 ``[B]``, how many vectors each sequence has.

        Returns:
            See `answered`; a sequence without a vector, or with a number that is not finite, has no label.
        """
        most = self.preprocessor.max_length
        sizes = tf.clip_by_value(lengths, 0, tf.minimum(tf.shape(vectors)[1], most))
        # One position at least, so that a batch of nothing but empty sequences has a first one.
        cut = tf.pad(vectors[:, :most], [[0, 0], [0, tf.cast(tf.shape(vectors)[1] == 0, tf.int32)], [0, 0]])
        # What stands behind the end, NaN say, has no part in the answer.
        real = tf.where(tf.sequence_mask(sizes, tf.shape(cut)[1])[:, :, None], cut, 0.0)
        finite = tf.reduce_all(tf.math.is_finite(real), axis=[1, 2])
        logits = self.logits(vectors=real, lengths=sizes)
        return answered(logits, finite & (sizes > 0), self.labels)

    def served(self) -> tf.Module:
        """See `Task`."""
        return _Served(self)

    def manifest_facts(self) -> dict[str, Any]:
        """See `Task`."""
        return {"labels": self.labels, "features": self.preprocessor.features}

    def trial(self, samples: Sequence[Sequence32]) -> Trial:
        """See `Task`."""
        features = self.preprocessor.features
        odd = [np.zeros((1, features), np.float32), np.ones((7, features), np.float32)]
        sequences = [*samples, *odd]
        expected = self.answers(sequences)
        alone = ([place] for place in range(0, len(sequences), max(1, len(sequences) // 4)))

        def call(places: Sequence[int]) -> Call:
            def check(_: Inputs, found: Mapping[str, Any]) -> None:
                for place, *answer in zip(places, found["label"], found["probabilities"], strict=True):
                    compare_answers(f"sequence {place + 1}", expected[place], *answer)

            batch = padded([sequences[place] for place in places])
            return Call("serving_default", [{name: array.tolist() for name, array in batch.items()}], check)

        calls = [call(places) for places in (range(len(sequences)), *alone)]
        return Trial(calls, {"examples": len(sequences), "alone": len(calls) - 1})


def padded_batches(sequences: Sequence[Sequence32]) -> Iterator[tuple[Any, dict[str, np.ndarray[Any, Any]]]]:
    """Sequences of similar length together: their places, and the batch as of `padded`."""
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    for places in batches_by_length(lengths, VECTORS_AT_ONCE) if len(sequences) else ():
        yield places, padded([sequences[place] for place in places])


def padded(sequences: Sequence[Sequence32]) -> dict[str, np.ndarray[Any, Any]]:
    """Sequences as one batch: ``vectors`` ``[B, T, F]``, zeros behind each end, and ``lengths`` ``[B]``."""
    lengths = np.array([len(sequence) for sequence in sequences], np.int32)
    vectors = np.zeros((len(sequences), int(lengths.max()), sequences[0].shape[1]), np.float32)
    for row, sequence in enumerate(sequences):
        vectors[row, : len(sequence)] = sequence
    return {"vectors": vectors, "lengths": lengths}


def _signature(features: int) -> list[tf.TensorSpec]:
    return [
        tf.TensorSpec([None, None, features], tf.float32, name="vectors"),
        tf.TensorSpec([None], tf.int32, name="lengths"),
    ]


class _Served(tf.Module):
    """What a SavedModel of a classifier of sequences holds: the task and its signature."""

    def __init__(self, task: VectorClassifier) -> None:
        super().__init__(name="served_vector_classifier")
        self.task = task
        # The number of features is known only now.
        self.serving_default = tf.function(
            task.answer, input_signature=_signature(task.preprocessor.features), autograph=False
        )
