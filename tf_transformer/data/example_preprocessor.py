"""What stands between examples that are no text and a classifier: their form, their labels, their scale.

It is saved with the model that it feeds, so that what is served is read as what was trained on.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.data.image_form import ImageForm, decode_image
from tf_transformer.data.labelled import LabelledCorpus
from tf_transformer.errors import DataError, TextError
from tf_transformer.text import storage
from tf_transformer.text.labels import Labels

MANIFEST: Final = "preprocessor.json"
_LEAST_DEVIATION: Final = 1e-6
"""Share of a feature's size below which it never changes but for rounding: it is not divided by that."""
_WHITE: Final = 255.0


class ExamplePreprocessor(tf.Module, ABC):
    """What the preprocessors of pictures and of sequences share: labels, scale, and how they are saved.

    Args:
        labels: The labels that can be answered.
        mean: The mean of each channel or feature over the training examples.
        deviation: Its deviation, above 0.
    """

    KIND: ClassVar[str]

    def __init__(self, labels: Labels, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        self.labels = labels
        self.mean = tuple(map(float, mean))
        self.deviation = tuple(map(float, deviation))

    @property
    def custom_ops(self) -> tuple[str, ...]:
        """Operations in the graph that core TensorFlow lacks: none."""
        return ()

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What a saved preprocessor is made of beside labels and scale, as plain values."""

    @classmethod
    @abstractmethod
    def from_settings(cls, settings: Mapping[str, Any], **common: Any) -> Self:
        """The preprocessor of these settings."""

    def save(self, folder: str | Path) -> None:
        """Writes the preprocessor into a folder of its own, which is replaced as a whole.

        Raises:
            TextError: The folder cannot be written.
        """
        manifest = {
            "kind": self.KIND,
            "labels": dict(zip(self.labels.names, self.labels.counts, strict=True)),
            "mean": list(self.mean),
            "deviation": list(self.deviation),
            "settings": self.settings(),
        }
        storage.write_folder(folder, {MANIFEST: storage.manifest_bytes(manifest, {})})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Loads what `save` has written.

        Raises:
            TextError: A file is missing or damaged, or is of another kind; the message names it.
        """
        path = Path(folder) / MANIFEST
        manifest = storage.read_manifest(path)
        if (kind := storage.field(manifest, path, "kind", str)) != cls.KIND:
            raise TextError(f"{path}: `kind` must be {cls.KIND}. Received: {kind}")
        labels, settings = (storage.field(manifest, path, name, dict) for name in ("labels", "settings"))
        scale = {name: storage.field(manifest, path, name, list) for name in ("mean", "deviation")}
        try:
            return cls.from_settings(settings, labels=Labels([*labels], [*labels.values()]), **scale)
        except (KeyError, TypeError, ValueError) as error:
            raise TextError(f"{path}: must be what was saved. Received: {error}") from error


class ImagePreprocessor(ExamplePreprocessor):
    """Encoded pictures to pixels of one form, and labels to numbers.

    Args:
        form: Height, width and channels, all of them known, and what is done with other pictures.
        labels: The labels that can be answered.
        mean: The mean of each channel over the training pictures, white being 1.
        deviation: Its deviation, above 0.

    Raises:
        ValueError: If the form leaves something open.
    """

    KIND = "images"

    def __init__(
        self, form: ImageForm, labels: Labels, mean: Sequence[float], deviation: Sequence[float]
    ) -> None:
        super().__init__(labels, mean, deviation)
        if None in form.shape:
            raise ValueError(f"`form` must have height, width and channels. Received: {form}")
        self.form = form

    @classmethod
    def of(cls, corpora: Sequence[LabelledCorpus], form: ImageForm) -> "ImagePreprocessor":
        """The preprocessor of training pictures.

        Args:
            corpora: The pictures; all have one height, width and number of channels.
            form: What was asked of them; what it leaves open is theirs.

        Raises:
            DataError: When they have fewer than two different labels.
        """
        pixels = [corpus.inputs for corpus in corpora]
        totals = [_moments(images) for images in pixels]
        mean, deviation = _scale(totals, _WHITE)
        return cls(form.completed(pixels[0].shape[1:]), labels_of(corpora), mean, deviation)

    def decode(self, contents: tf.Tensor) -> tf.Tensor:
        """Encoded pictures as pixels.

        Args:
            contents: String `[B]`, whole files.

        Returns:
            uint8 `[B, height, width, channels]`.

        Raises:
            tf.errors.InvalidArgumentError: If one is no picture, broken, or of another form.
        """
        count = tf.size(contents)
        return tf.map_fn(
            lambda pair: decode_image(pair[0], self.form, pair[1]),
            (contents, tf.range(1, count + 1)),
            fn_output_signature=tf.TensorSpec(self.form.shape, tf.uint8),
        )

    def assemble(self, images: tf.Tensor, labels: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Makes the arguments of a training step.

        Args:
            images: uint8 `[B, height, width, channels]`.
            labels: int32 `[B]` as from `Labels.number`.

        Returns:
            `({"images": images}, labels)`.
        """
        return {"images": images}, labels

    def settings(self) -> dict[str, Any]:
        return {"form": self.form.to_json()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], **common: Any) -> "ImagePreprocessor":
        return cls(ImageForm(**settings["form"]), **common)


class VectorPreprocessor(ExamplePreprocessor):
    """Sequences of vectors to padded batches, and labels to numbers.

    Args:
        labels: The labels that can be answered.
        mean: The mean of each feature over the training sequences; as many as vectors have features.
        deviation: Its deviation, above 0.
        max_length: The most vectors of a sequence; a longer one is cut.
    """

    KIND = "vectors"

    def __init__(
        self, labels: Labels, mean: Sequence[float], deviation: Sequence[float], max_length: int
    ) -> None:
        super().__init__(labels, mean, deviation)
        self.max_length = whole_number("max_length", max_length, 1)

    @property
    def features(self) -> int:
        """Features of a vector."""
        return len(self.mean)

    @classmethod
    def of(cls, corpora: Sequence[LabelledCorpus], max_length: int) -> "VectorPreprocessor":
        """The preprocessor of training sequences.

        Raises:
            DataError: When they have fewer than two different labels.
        """
        # What is cut off is never read.
        totals = [_moments(sequence[:max_length]) for corpus in corpora for sequence in corpus.inputs]
        mean, deviation = _scale(totals, 1.0)
        return cls(labels_of(corpora), mean, deviation, max_length)

    def assemble(
        self, vectors_ids: tf.RaggedTensor, labels: tf.Tensor, vectors_length: int | tf.Tensor | None = None
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Makes the arguments of a training step.

        Args:
            vectors_ids: Ragged float32 `[B, None, F]`, under the name that pipelines give to what is ragged.
            labels: int32 `[B]` as from `Labels.number`.
            vectors_length: Length T to pad to; `None`: the longest sequence.

        Returns:
            `({"vectors": float32 [B, T, F], "lengths": int32 [B]}, labels)`, padded with zeros.
        """
        lengths = tf.cast(vectors_ids.row_lengths(), tf.int32)
        vectors = vectors_ids.to_tensor()  # [B, longest, F]
        if vectors_length is not None:
            behind = tf.cast(vectors_length, tf.int32) - tf.shape(vectors)[1]
            vectors = tf.pad(vectors, [[0, 0], [0, behind], [0, 0]])
        return {"vectors": tf.ensure_shape(vectors, [None, None, self.features]), "lengths": lengths}, labels

    def settings(self) -> dict[str, Any]:
        return {"max_length": self.max_length}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], **common: Any) -> "VectorPreprocessor":
        return cls(max_length=settings["max_length"], **common)


def labels_of(corpora: Sequence[LabelledCorpus]) -> Labels:
    """The labels of training examples.

    Raises:
        DataError: When there are fewer than two different ones.
    """
    names = [label for corpus in corpora for label in corpus.labels]
    if len(set(names)) < 2:
        listed = ", ".join(corpus.name for corpus in corpora)
        raise DataError(f"{listed}: must have two different labels at least. Received: {names[0]!r} alone")
    return Labels.of(names)


def _moments(values: np.ndarray[Any, Any]) -> tuple[int, Any, Any]:
    """How many values each channel has, their sum, and the sum of their squares."""
    flat = values.reshape(-1, values.shape[-1])
    squares = np.einsum("nc,nc->c", flat, flat, dtype=np.float64, casting="unsafe")
    return len(flat), flat.sum(axis=0, dtype=np.float64), squares


def _scale(totals: Sequence[tuple[int, Any, Any]], white: float) -> tuple[list[float], list[float]]:
    count = sum(number for number, _, _ in totals)
    mean = sum(total for _, total, _ in totals) / count
    square = sum(squares for _, _, squares in totals) / count
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0)) / white
    # In its own unit: volts of an electrode are a millionth, and differ for all that.
    changes = deviation * white > _LEAST_DEVIATION * np.sqrt(square)
    return (mean / white).tolist(), np.where(changes, deviation, 1.0).tolist()
