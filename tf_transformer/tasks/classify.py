"""Classification of text: a classifier and its text side, joined into text in, label out.

Shapes: B texts, S pieces, C labels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.arguments import list_of_strings, whole_number
from tf_transformer.models import Classifier
from tf_transformer.presets import END_ID, PAD_ID
from tf_transformer.replicas import OnDevices
from tf_transformer.tasks.batches import batches_by_length
from tf_transformer.tasks.classification import Answer, answered, answers_of, classification_trial
from tf_transformer.tasks.classifier_task import ClassifierTask, check_sizes
from tf_transformer.tasks.task import Trial
from tf_transformer.text import ClassificationPreprocessor

PIECES_AT_ONCE = 8192
"""Positions, padding included, that one batch of texts has."""
ODD_TEXTS = ("", " ", "a", "</s> <pad>", "?!" * 40)
"""Texts that every export is tried with beside its samples."""


class TextClassifier(ClassifierTask):
    """Gives labels to texts with a trained model.

    Args:
        model: A ``Classifier`` over a ``TextEmbedding``.
        preprocessor: The text side that it was trained with.
        max_length: Longer texts are cut to this many pieces, start and end included; never more than the
            model has learned positions for.

    Raises:
        TypeError: When ``max_length`` is no whole number.
        ValueError: When model and preprocessor have not as many tokens, or labels, as each other.

    Example:

    >>> classifier = TextClassifier(model, preprocessor)  # doctest: +SKIP
    >>> classifier.classify(["Who was Galileo?"])  # doctest: +SKIP
    ['HUM']
    """

    TASK = "classify_text"
    preprocessor: ClassificationPreprocessor

    def __init__(
        self, model: Classifier, preprocessor: ClassificationPreprocessor, *, max_length: int = 256
    ) -> None:
        super().__init__("text_classifier", model, preprocessor)
        check_sizes({"tokens": (model.embedding.vocabulary_size, preprocessor.vocabulary_size)})
        max_length = whole_number("max_length", max_length, 3)  # the start, a piece and the end
        self.max_length = min(max_length, model.embedding.max_length or max_length)
        self._logits = OnDevices(
            lambda source_ids: model({"source_ids": source_ids}, training=False),
            model,
            [tf.TensorSpec([None, None], tf.int32, name="source_ids")],
        )

    def classify(self, texts: Sequence[str]) -> list[str]:
        """The most probable label of each text, in order; empty for a text that has no word.

        Args:
            texts: Texts; where special tokens mark places of them, with each of the tokens once: a text
                without is not answered either.

        Raises:
            TypeError: When ``texts`` is no list of strings (one string is none).
        """
        return [answer.label for answer in self.answers(texts)]

    def answers(self, texts: Sequence[str]) -> list[Answer]:
        """The label of each text with its probability, and the probabilities of all labels.

        Args:
            texts: As for ``classify``.
        """
        return answers_of(np.exp(self.log_probabilities(self.normalize(texts))), self.labels)

    def log_probabilities(self, normalized: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The natural logs of the probabilities of all labels, float32 ``[N, C]``.

        Args:
            normalized: Texts as ``normalize`` returns them, and corpora hold them.

        Returns:
            A row a text, in order; minus infinity where there is nothing to answer to.
        """
        found = np.full((len(normalized), len(self.labels)), -np.inf, np.float32)
        if not len(normalized):
            return found
        strings = tf.constant(list(normalized), tf.string)
        text_ids = self._cut(self.preprocessor.encode_text(strings))
        rows = np.flatnonzero(self.preprocessor.answerable(strings, text_ids).numpy())
        lengths = text_ids.row_lengths().numpy()[rows]
        batches = batches_by_length(lengths, PIECES_AT_ONCE)
        padded = ((tf.gather(text_ids, rows[places]).to_tensor(PAD_ID),) for places in batches)
        for places, logits in zip(batches, self._logits.map(padded), strict=True):
            found[rows[places]] = tf.nn.log_softmax(logits).numpy()
        return found

    def answer(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Texts to labels inside one graph: what a SavedModel runs.

        Args:
            texts: ``[B]`` string.

        Returns:
            See `answered`.
        """
        strings = self.preprocessor.normalizer(texts)
        text_ids = self._cut(self.preprocessor.encode_text(strings))
        logits = self.logits(source_ids=text_ids.to_tensor(PAD_ID))
        return answered(logits, self.preprocessor.answerable(strings, text_ids), self.labels)

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Texts as the model's own text is normalised, special tokens as their codes."""
        return self.preprocessor.normalizer.normalize_texts(list_of_strings("texts", texts))

    def count_cut(self, texts: Sequence[str]) -> int:
        """How many of ``texts`` are longer than ``max_length`` and lose their end."""
        normalized = self.normalize(texts)
        if not normalized:
            return 0
        lengths = self.preprocessor.encode_text(tf.constant(normalized, tf.string)).row_lengths()
        return int(tf.math.count_nonzero(lengths > self.max_length))

    def served(self) -> "ServedClassifier":
        """See `Task`."""
        return ServedClassifier(self)

    def manifest_facts(self) -> dict[str, Any]:
        """See `Task`."""
        options = self.preprocessor.normalizer.options
        return {
            "labels": self.labels,
            "source_vocabulary_size": self.preprocessor.vocabulary_size,
            "special_tokens": self.preprocessor.special_tokens,
            **{name: options[name] for name in ("normal_form", "lowercase")},
        }

    def trial(self, samples: Sequence[str]) -> Trial:
        """See `Task`."""
        texts = [*samples, *ODD_TEXTS]
        return classification_trial("text", texts, self.answers(texts))

    def _cut(self, text_ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Cuts rows that are too long; the last place of a cut row holds the end token."""
        cut = text_ids[:, : self.max_length]
        places = tf.ragged.range(cut.row_lengths()).flat_values
        last = tf.equal(places, self.max_length - 1)
        return cut.with_flat_values(tf.where(last, END_ID, cut.flat_values))


class ServedClassifier(tf.Module):
    """What a SavedModel of a classifier holds: the task and its signature.

    Args:
        task: The classifier.
    """

    def __init__(self, task: TextClassifier) -> None:
        super().__init__(name="served_classifier")
        self.task = task

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serving_default(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The label of each text, and the probabilities of all labels."""
        return self.task.answer(text)
