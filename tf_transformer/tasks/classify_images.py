"""Classification of pictures: a classifier over patches, joined with its image side."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.data.example_preprocessor import ImagePreprocessor
from tf_transformer.data.images import Image, Pixels, read_image
from tf_transformer.errors import ExportError
from tf_transformer.models import Classifier
from tf_transformer.ops.rollout import attention_rollout, patch_relevance
from tf_transformer.replicas import OnDevices
from tf_transformer.tasks.classification import (
    TOLERANCE,
    Answer,
    answered,
    answers_of,
    classification_trial,
)
from tf_transformer.tasks.classifier_task import ClassifierTask
from tf_transformer.tasks.task import Call, Inputs, Trial

IMAGES_AT_ONCE = 256


class ImageClassifier(ClassifierTask):
    """Gives labels to pictures with a trained model.

    Args:
        model: A ``Classifier`` over a ``PatchEmbedding``.
        preprocessor: The image side that it was trained with.

    Raises:
        ValueError: When model and preprocessor have not equally many labels.

    Example:

    >>> classifier = ImageClassifier(model, preprocessor)  # doctest: +SKIP
    >>> classifier.classify(["cat.png"])  # doctest: +SKIP
    ['cat']
    """

    TASK = "classify_images"
    SIGNATURES = ("relevance", "serving_default")

    def __init__(self, model: Classifier, preprocessor: ImagePreprocessor) -> None:
        super().__init__("image_classifier", model, preprocessor)
        spec = tf.TensorSpec([None, *preprocessor.form.shape], tf.uint8, name="images")
        self._logits = OnDevices(lambda images: model({"images": images}, training=False), model, [spec])
        self._relevance = tf.function(self._followed, input_signature=[spec], autograph=False)

    def classify(self, images: Sequence[Image]) -> list[str]:
        """The most probable label of each picture, in order.

        Args:
            images: Paths of files, contents of files, or pixels, uint8 `[height, width, channels]`.

        Raises:
            DataError: When one cannot be read, or has another form than the model's; names it and the rule.
        """
        return [answer.label for answer in self.answers(images)]

    def answers(self, images: Sequence[Image]) -> list[Answer]:
        """The label of each picture with its probability, and the probabilities of all labels.

        Args:
            images: As for ``classify``.
        """
        return answers_of(np.exp(self.log_probabilities(self.pixels(images))), self.labels)

    def pixels(self, images: Sequence[Image]) -> Pixels:
        """Pictures as the model gets them, uint8 `[N, height, width, channels]`.

        Args:
            images: As for ``classify``.
        """
        form = self.preprocessor.form
        read = [read_image(image, form, place) for place, image in enumerate(images, start=1)]
        return np.stack(read) if read else np.zeros((0, *form.shape), np.uint8)

    def log_probabilities(self, pixels: Pixels | Sequence[Pixels]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The natural logs of the probabilities of all labels, float32 ``[N, C]``.

        Args:
            pixels: As from ``pixels``, or a list of such.
        """
        logits = self._logits.map((tf.constant(part),) for part in _parts(np.asarray(pixels)))
        parts = [tf.nn.log_softmax(part).numpy() for part in logits]
        return np.concatenate([np.zeros((0, len(self.labels)), np.float32), *parts])

    def relevance(self, images: Sequence[Image]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The share of each patch in what a picture's class is told from, float32 ``[N, rows, columns]``.

        See `attention_rollout`; it says where the model looked, and not why it decided so.

        Args:
            images: As for ``classify``.
        """
        parts = [self._relevance(part).numpy() for part in _parts(self.pixels(images))]
        return np.concatenate([np.zeros((0, *self.model.embedding.grid), np.float32), *parts])

    def _followed(self, pixels: tf.Tensor) -> tf.Tensor:
        found = self.model.attention({"images": pixels})
        rollout = attention_rollout(found["encoder"])
        size = int(rollout.shape[-1])
        equal, first = tf.fill([size], 1.0 / size), tf.one_hot(0, size)
        of_kind = {"attention": found.get("pooling"), "first": first}
        poolings = [of_kind.get(kind, equal) for kind in self.model.pooling]
        pooling = tf.add_n([tf.broadcast_to(one, tf.shape(rollout)[:2]) for one in poolings]) / len(poolings)
        return patch_relevance(rollout, pooling, self.model.embedding.grid)

    def answer(self, contents: tf.Tensor) -> dict[str, tf.Tensor]:
        """Encoded pictures to labels inside one graph: what a SavedModel runs.

        Args:
            contents: ``[B]`` string, whole files.

        Returns:
            See `answered`.

        Raises:
            tf.errors.InvalidArgumentError: If one is no picture, broken, or of another form.
        """
        logits = self.logits(images=self.preprocessor.decode(contents))
        return answered(logits, tf.ones_like(contents, tf.bool), self.labels)

    def looked_at(self, contents: tf.Tensor) -> dict[str, tf.Tensor]:
        """Encoded pictures to the shares of their patches inside one graph: what a SavedModel runs.

        Args:
            contents: As for ``answer``.

        Returns:
            ``relevance``, as of the method of this name.
        """
        with self.weights.reading():
            return {"relevance": self._followed(self.preprocessor.decode(contents))}

    def served(self) -> "ServedImageClassifier":
        """See `Task`."""
        return ServedImageClassifier(self)

    def manifest_facts(self) -> dict[str, Any]:
        """See `Task`."""
        return {"labels": self.labels, "image_form": self.preprocessor.form.to_json()}

    def trial(self, samples: Sequence[bytes]) -> Trial:
        """See `Task`; beside samples it is tried on noise, in two formats where there are so many."""
        form = self.preprocessor.form
        noise = np.random.default_rng(0).integers(0, 256, form.shape).astype(np.uint8)
        odd = [tf.io.encode_png(noise).numpy()]
        if form.channels in (1, 3):
            odd.append(tf.io.encode_jpeg(noise).numpy())
        images = list(dict.fromkeys([*samples, *odd]))
        trial, expected = classification_trial("image", images, self.answers(images)), self.relevance(images)

        def check(_: Inputs, found: Mapping[str, Any]) -> None:
            if not np.allclose(found["relevance"], expected, rtol=0, atol=TOLERANCE):
                raise ExportError("the exported model looks elsewhere than the run, so it was not kept")

        return Trial([*trial.calls, Call("relevance", [{"image": images}], check)], trial.summary)


def _parts(pixels: Pixels) -> Iterator[Pixels]:
    for start in range(0, len(pixels), IMAGES_AT_ONCE):
        yield pixels[start : start + IMAGES_AT_ONCE]


class ServedImageClassifier(tf.Module):
    """What a SavedModel of a classifier of pictures holds: the task and its signatures.

    Args:
        task: The classifier.
    """

    def __init__(self, task: ImageClassifier) -> None:
        super().__init__(name="served_image_classifier")
        self.task = task

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image")], autograph=False)
    def serving_default(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        """The label of each encoded picture, and the probabilities of all labels."""
        return self.task.answer(image)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image")], autograph=False)
    def relevance(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        """The share of each patch in what a picture's class is told from."""
        return self.task.looked_at(image)
