"""Text and labels to what a classifier takes, and its answers to labels."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import tensorflow as tf

from tf_transformer.arguments import list_of_strings
from tf_transformer.errors import TextError
from tf_transformer.presets import START_ID
from tf_transformer.text import storage
from tf_transformer.text.blank import is_visible
from tf_transformer.text.enclosed_sampling import EnclosedSampler, single_parts
from tf_transformer.text.labels import Labels
from tf_transformer.text.normalizer import Normalizer
from tf_transformer.text.rows import checked_ids, checked_part, ended, ids_of_parts, padded, saved_normalizer
from tf_transformer.text.special_tokens import MarkingNormalizer
from tf_transformer.text.tokenizers import Tokenizer, load_tokenizer, train_tokenizer

MANIFEST: Final = "preprocessor.json"
_SIDE: Final = "text"


class ClassificationPreprocessor(tf.Module):
    """Normalises, tokenises and pads text, and numbers labels; saved with the model that it feeds.

    Shapes: B batch, S length. Ids are int32: those of the tokenizer, then those of the special tokens.

    Args:
        tokenizer: The tokenizer.
        labels: The labels that can be answered.
        normalizer: What is done to text first; `None`: `Normalizer()`. A `MarkingNormalizer` brings special
            tokens, which text cannot forge.

    Raises:
        TypeError: A part is none of its kind.

    Example:

    >>> side = ClassificationPreprocessor.train(["ab", "ba"], ["up", "down"], tokenizer="bytes")
    >>> inputs, labels = side(["ab", "b"], ["up", "sideways"])
    >>> inputs["source_ids"].numpy().tolist(), labels.numpy().tolist()
    ([[2, 101, 102, 3], [2, 102, 3, 0]], [1, -1])
    """

    def __init__(self, tokenizer: Tokenizer, labels: Labels, normalizer: Normalizer | None = None) -> None:
        super().__init__()
        self.tokenizer = checked_part("tokenizer", tokenizer, Tokenizer)
        self.normalizer = checked_part("normalizer", normalizer or Normalizer(), Normalizer)
        self.labels = checked_part("labels", labels, Labels)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        labels: Iterable[str],
        tokenizer: str = "sentencepiece",
        vocabulary_size: int = 8000,
        *,
        normalizer: Normalizer | None = None,
        **options: Any,
    ) -> "ClassificationPreprocessor":
        """Makes a preprocessor whose tokenizer is trained on a corpus; its labels are the corpus', sorted.

        Args:
            texts: Texts, raw.
            labels: The label of each.
            tokenizer: Kind of tokenizer, see `train_tokenizer`.
            vocabulary_size: The most ids, special tokens not counted.
            normalizer: See the class.
            **options: Further arguments of `train_tokenizer`.

        Raises:
            TypeError: Texts or labels are no list of strings.
            ValueError: An argument is out of its range, or there is not one label for each text.
            TextError: There is no text, or `vocabulary_size` cannot hold its characters.
        """
        texts, names = list_of_strings("texts", texts), list_of_strings("labels", labels)
        if len(texts) != len(names):
            raise ValueError(
                "`texts` and `labels` must be equally many, one label for each text. "
                f"Received: {len(texts)} and {len(names)}"
            )
        normalizer = checked_part("normalizer", normalizer or Normalizer(), Normalizer)
        parts = plain_parts(normalizer, normalizer.normalize_texts(texts))
        trained = train_tokenizer(tokenizer, parts, vocabulary_size, **options)
        return cls(trained, Labels.of(names), normalizer)

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens that a text may hold."""
        normalizer = self.normalizer
        return normalizer.special_tokens if isinstance(normalizer, MarkingNormalizer) else ()

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Their ids: those after the tokenizer's."""
        first = self.tokenizer.vocabulary_size
        return tuple(range(first, first + len(self.special_tokens)))

    @property
    def vocabulary_size(self) -> int:
        """The number of ids."""
        return self.tokenizer.vocabulary_size + len(self.special_tokens)

    @property
    def tokens(self) -> list[str]:
        """The piece or special token of each id."""
        return [*self.tokenizer.tokens, *self.special_tokens]

    @property
    def custom_ops(self) -> tuple[str, ...]:
        """Operations in the graph that core TensorFlow lacks; `import tensorflow_text` brings them."""
        return tuple(sorted({*self.normalizer.custom_ops, *self.tokenizer.custom_ops}))

    @property
    def core_ops_only(self) -> bool:
        """Whether a SavedModel with this runs where only core TensorFlow is known."""
        return not self.custom_ops

    def encode_text(self, strings: Any) -> tf.RaggedTensor:
        """Returns the ids that the encoder reads.

        Args:
            strings: string `[B]`, normalised by `normalizer`.

        Returns:
            Ragged int32 `[B, None]`: the start, the pieces, the end.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        if isinstance(self.normalizer, MarkingNormalizer):
            pieces = ids_of_parts(self.tokenizer, *self.normalizer.split(strings))
        else:
            pieces = self.tokenizer.tokenize(strings)
        starts = tf.fill([pieces.nrows(), 1], START_ID)
        return ended(tf.concat([starts, pieces], axis=1))

    def sampler(self, texts: Sequence[str], alpha: float) -> EnclosedSampler:
        """What draws other segmentations of normalised texts, with ids as `encode_text` has them.

        Args:
            texts: Normalised texts.
            alpha: See `SubwordSampler`.

        Raises:
            TextError: The tokenizer cannot be sampled from.
        """
        if isinstance(self.normalizer, MarkingNormalizer):
            text, token = self.normalizer.split(tf.constant(list(texts), tf.string))
        else:
            text, token = single_parts(texts)
        return EnclosedSampler(self.tokenizer, text, token, alpha)

    def answerable(self, strings: Any, text_ids: tf.RaggedTensor) -> tf.Tensor:
        """Whether there is anything to answer to: text that can be seen, and special tokens as they must be.

        Args:
            strings: string `[B]`, normalised by `normalizer`.
            text_ids: What `encode_text` made of them, or the part of it that the model reads.

        Returns:
            Boolean `[B]`.
        """
        found = is_visible(tf.convert_to_tensor(strings, tf.string))
        if isinstance(self.normalizer, MarkingNormalizer) and self.normalizer.once:
            for number in self.special_ids:
                found &= tf.reduce_sum(tf.cast(text_ids == number, tf.int32), axis=1) == 1
        return found

    def assemble(
        self, text_ids: tf.RaggedTensor, label: tf.Tensor, text_length: int | tf.Tensor | None = None
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Makes the arguments of a training step.

        Args:
            text_ids: Ragged `[B, None]` as from `encode_text`.
            label: int32 `[B]` as from `Labels.number`.
            text_length: Length S to pad to; `None`: the longest row.

        Returns:
            `({"source_ids": int32 [B, S]}, labels int32 [B])`, padded with 0.

        Raises:
            TypeError: Ids are not ragged, or no integers.
            tf.errors.InvalidArgumentError: An id is not in the vocabulary, or a row is longer than asked for.
        """
        text_ids = checked_ids("text_ids", text_ids, self.vocabulary_size)
        return {"source_ids": padded("text_ids", text_ids, text_length)}, tf.cast(label, tf.int32)

    def __call__(self, texts: Any, labels: Any) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Returns `assemble` of raw texts and labels, string `[B]`; fit for `Dataset.map` after `batch`."""
        return self.assemble(self.encode_text(self.normalizer(texts)), self.labels.number(labels))

    def save(self, folder: str | Path) -> None:
        """Writes the preprocessor into a folder of its own, which is replaced as a whole.

        Raises:
            TextError: The folder cannot be written.
        """
        manifest = {
            "normalizer": self.normalizer.options,
            "labels": dict(zip(self.labels.names, self.labels.counts, strict=True)),
        }
        files = {MANIFEST: storage.manifest_bytes(manifest, {})}
        files |= {f"{_SIDE}/{name}": content for name, content in self.tokenizer.to_files().items()}
        storage.write_folder(folder, files)

    @classmethod
    def load(cls, folder: str | Path) -> "ClassificationPreprocessor":
        """Loads what `save` has written; the ids and the numbers of the labels are the same.

        Raises:
            TextError: A file is missing, damaged or changed; the message names it.
        """
        path = Path(folder) / MANIFEST
        manifest = storage.read_manifest(path)
        labels = storage.field(manifest, path, "labels", dict)
        normalizer = saved_normalizer(manifest, path)
        try:
            return cls(
                load_tokenizer(path.parent / _SIDE), Labels(list(labels), list(labels.values())), normalizer
            )
        except (TypeError, ValueError) as error:
            raise TextError(f"{path}: `labels` must hold the labels of a run. Received: {error}") from error


def plain_parts(normalizer: Normalizer, texts: Sequence[str]) -> list[str]:
    """The text of normalised texts without special tokens: what a tokenizer is trained on."""
    if not isinstance(normalizer, MarkingNormalizer):
        return list(texts)
    parts = normalizer.split(tf.constant(list(texts), tf.string))[0].flat_values.numpy()
    return [part.decode("utf-8") for part in parts if part]
