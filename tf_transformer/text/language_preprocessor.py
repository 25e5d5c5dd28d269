"""Running text to what a language model takes, and its ids to text."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import tensorflow as tf

from tf_transformer.arguments import list_of_strings
from tf_transformer.errors import TextError
from tf_transformer.presets import START_ID
from tf_transformer.text import storage
from tf_transformer.text.normalizer import Normalizer
from tf_transformer.text.rows import checked_ids, checked_part, ended, padded, saved_normalizer
from tf_transformer.text.tokenizers import Tokenizer, load_tokenizer, train_tokenizer

MANIFEST: Final = "preprocessor.json"
_SIDE: Final = "text"
# These split at any white space, so a line's end would be lost.
_LINELESS: Final = ("words", "wordpiece")


class LanguagePreprocessor(tf.Module):
    """Normalises, tokenises and pads running text; saved with the model that it feeds.

    Shapes: B batch, T length. Ids are int32. A text is a row of labels: its pieces and, where texts have an
    end, the end. The model gets the start, and for each label those before it.

    Args:
        tokenizer: The tokenizer.
        normalizer: What is done to text first; `None`: `Normalizer()`. What it keeps of white space the
            tokenizer must be able to write.
        has_end: Whether a text has an end that the model predicts, as a line or a poem has; not so a piece of
            a long text.

    Raises:
        TypeError: A part is none of its kind.
        ValueError: The tokenizer cannot write what the normalizer keeps.

    Example:

    >>> preprocessor = LanguagePreprocessor.train(["ab"], tokenizer="bytes")
    >>> inputs, labels = preprocessor(["ab", ""])
    >>> inputs["target_ids"].numpy().tolist(), labels.numpy().tolist()
    ([[2, 101, 102], [2, 0, 0]], [[101, 102, 3], [3, 0, 0]])
    """

    def __init__(
        self, tokenizer: Tokenizer, normalizer: Normalizer | None = None, has_end: bool = True
    ) -> None:
        super().__init__()
        self.tokenizer = checked_part("tokenizer", tokenizer, Tokenizer)
        self.normalizer = checked_part("normalizer", normalizer or Normalizer(), Normalizer)
        self.has_end = checked_part("has_end", has_end, bool)
        keep, kind = self.normalizer.keep, tokenizer.kind
        if keep != "words" and (kind in _LINELESS or (kind == "sentencepiece" and keep == "all")):
            possible = '"words"' if kind in _LINELESS else '"words" or "lines"'
            raise ValueError(
                f"`normalizer` must keep {possible} for the tokenizer {kind}. Received: keep={keep!r}"
            )
        # SentencePiece knows spaces and no line ends: one is written as a byte, with a space on either side.
        self._spells_lines = keep == "lines" and kind == "sentencepiece"

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        tokenizer: str = "characters",
        vocabulary_size: int = 8000,
        *,
        normalizer: Normalizer | None = None,
        has_end: bool = True,
        **options: Any,
    ) -> "LanguagePreprocessor":
        """Makes a preprocessor whose tokenizer is trained on texts.

        Args:
            texts: Texts, raw: they are normalised here.
            tokenizer: Kind of tokenizer, see `train_tokenizer`.
            vocabulary_size: The most ids.
            normalizer: See the class.
            has_end: See the class.
            **options: Further arguments of `train_tokenizer`.

        Raises:
            TypeError: `texts` is no list of strings.
            ValueError: An argument is out of its range.
            TextError: There is no text, or `vocabulary_size` cannot hold its characters.
        """
        normalizer = checked_part("normalizer", normalizer or Normalizer(), Normalizer)
        normal = normalizer.normalize_texts(list_of_strings("texts", texts))
        return cls(train_tokenizer(tokenizer, normal, vocabulary_size, **options), normalizer, has_end)

    @property
    def vocabulary_size(self) -> int:
        """The number of ids."""
        return self.tokenizer.vocabulary_size

    @property
    def custom_ops(self) -> tuple[str, ...]:
        """Operations in the graph that core TensorFlow lacks; `import tensorflow_text` brings them."""
        return tuple(sorted({*self.normalizer.custom_ops, *self.tokenizer.custom_ops}))

    @property
    def core_ops_only(self) -> bool:
        """Whether a SavedModel with this runs where only core TensorFlow is known."""
        return not self.custom_ops

    def encode_prompt(self, strings: Any) -> tf.RaggedTensor:
        """Returns the pieces that texts begin with.

        Args:
            strings: string `[B]`, raw.

        Returns:
            Ragged int32 `[B, None]`, without start and end.
        """
        return self._tokenize(self.normalizer(strings))

    def encode_text(self, strings: Any) -> tf.RaggedTensor:
        """Returns the labels of whole texts.

        Args:
            strings: string `[B]`, normalised by `normalizer`.

        Returns:
            Ragged int32 `[B, None]`: the pieces and, where texts have one, the end.
        """
        pieces = self._tokenize(tf.convert_to_tensor(strings, tf.string))
        return ended(pieces) if self.has_end else pieces

    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        if self._spells_lines:
            strings = tf.strings.regex_replace(strings, "\n", " \n ")
        return self.tokenizer.tokenize(strings)

    def decode(self, ids: Any) -> tf.Tensor:
        """Returns the text of ids.

        Args:
            ids: int32 `[B, T]`, padded or ragged; padding, start and end are left out.

        Returns:
            string `[B]`.
        """
        text = self.tokenizer.detokenize(ids)
        return tf.strings.regex_replace(text, " ?\n ?", "\n") if self._spells_lines else text

    def decode_after(self, prompts: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """Returns what follows prompts, with the space between them if there is one.

        Args:
            prompts: int32 `[B, P]`, padded with 0.
            ids: int32 `[B, T]`, what comes after each, padded with 0.

        Returns:
            string `[B]`.
        """
        before, whole = self.decode(prompts), self.decode(tf.concat([prompts, ids], axis=1))
        size = tf.minimum(tf.strings.length(before), tf.strings.length(whole))
        rest = tf.strings.substr(whole, size, tf.strings.length(whole))
        # A tokenizer of words may write the last word of a prompt otherwise when more follows.
        begins = tf.strings.substr(whole, tf.zeros_like(size), size) == before
        return tf.where(begins, rest, self.decode(ids))

    def assemble(
        self, text_ids: tf.RaggedTensor, text_length: int | tf.Tensor | None = None
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Makes the arguments of a training step: the model sees each text up to the label it must predict.

        Args:
            text_ids: Ragged `[B, None]`, labels of texts or of windows of them.
            text_length: Length T to pad to; `None`: the longest row.

        Returns:
            `({"target_ids": int32 [B, T]}, labels int32 [B, T])`, padded with 0.

        Raises:
            TypeError: Ids are not ragged, or no integers.
            tf.errors.InvalidArgumentError: An id is not in the vocabulary, or a row is longer than asked for.
        """
        text_ids = checked_ids("text_ids", text_ids, self.vocabulary_size)
        labels = padded("text_ids", text_ids, text_length)
        starts = tf.fill([tf.shape(labels)[0], 1], START_ID)
        inputs = tf.concat([starts, labels], axis=1)[:, : tf.shape(labels)[1]]
        return {"target_ids": tf.where(labels == 0, 0, inputs)}, labels

    def __call__(self, strings: Any) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Returns `assemble` of raw strings `[B]`; fit for `Dataset.map` after `batch`."""
        return self.assemble(self.encode_text(self.normalizer(strings)))

    def save(self, folder: str | Path) -> None:
        """Writes the preprocessor into a folder of its own, which is replaced as a whole.

        Raises:
            TextError: The folder cannot be written.
        """
        manifest = {"normalizer": self.normalizer.options, "has_end": self.has_end}
        files = {MANIFEST: storage.manifest_bytes(manifest, {})}
        files |= {f"{_SIDE}/{name}": content for name, content in self.tokenizer.to_files().items()}
        storage.write_folder(folder, files)

    @classmethod
    def load(cls, folder: str | Path) -> "LanguagePreprocessor":
        """Loads what `save` has written; the ids are the same.

        Raises:
            TextError: A file is missing, damaged or changed; the message names it.
        """
        path = Path(folder) / MANIFEST
        manifest = storage.read_manifest(path)
        has_end = storage.field(manifest, path, "has_end", bool)
        normalizer = saved_normalizer(manifest, path)
        try:
            return cls(load_tokenizer(path.parent / _SIDE), normalizer, has_end)
        except ValueError as error:
            raise TextError(f"{path}: tokenizer and normalizer do not fit. Received: {error}") from error
