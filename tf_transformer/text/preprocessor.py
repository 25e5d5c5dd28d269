"""Strings to what a model takes, and ids to strings: the one place where targets are shifted."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import tensorflow as tf

from tf_transformer.arguments import list_of_strings
from tf_transformer.errors import TextError
from tf_transformer.presets import PAD_ID, START_ID
from tf_transformer.text import storage
from tf_transformer.text.enclosed_sampling import EnclosedSampler, single_parts
from tf_transformer.text.normalizer import Normalizer
from tf_transformer.text.rows import checked_ids, checked_part, ended, ids_of_parts, padded, saved_normalizer
from tf_transformer.text.source_form import SourceForm
from tf_transformer.text.tokenizers import Tokenizer, Unknown, load_tokenizer, train_tokenizer

MANIFEST: Final = "preprocessor.json"


class Preprocessor(tf.Module):
    """Normalises, tokenises and pads both sides; saved with the model that it feeds.

    Shapes: B batch, S source length, T target length. Ids are int32.

    Args:
        source_tokenizer: The tokenizer of the source side.
        target_tokenizer: The tokenizer of the target side; `None`: the source's, one vocabulary for both.
        normalizer: What is done to text first; `None`: `Normalizer()`.
        source_form: The columns and tags of sources, which are lines then; `None`: each is one text.
        source_end: Whether sources end with the end token. Without it, an empty source is that token alone:
            no row is without any.

    Raises:
        TypeError: A part is none of its kind.

    Example:

    >>> preprocessor = Preprocessor.train(["ab"], ["ba"], tokenizer="bytes")
    >>> inputs, labels = preprocessor(["ab", ""], ["ba", "b"])
    >>> inputs["source_ids"].numpy().tolist()
    [[101, 102, 3], [3, 0, 0]]
    >>> inputs["target_ids"].numpy().tolist(), labels.numpy().tolist()
    ([[2, 102, 101], [2, 102, 0]], [[102, 101, 3], [102, 3, 0]])
    """

    def __init__(
        self,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer | None = None,
        normalizer: Normalizer | None = None,
        source_form: SourceForm | None = None,
        source_end: bool = True,
    ) -> None:
        super().__init__()
        self.source_tokenizer = checked_part("source_tokenizer", source_tokenizer, Tokenizer)
        self.target_tokenizer = checked_part(
            "target_tokenizer", target_tokenizer or source_tokenizer, Tokenizer
        )
        self.normalizer = checked_part("normalizer", normalizer or Normalizer(), Normalizer)
        self.source_form = checked_part("source_form", source_form or SourceForm(), SourceForm)
        self.source_end = checked_part("source_end", source_end, bool)

    @classmethod
    def train(
        cls,
        source_texts: Iterable[str],
        target_texts: Iterable[str],
        tokenizer: str = "sentencepiece",
        vocabulary_size: int = 8000,
        shared: bool = True,
        *,
        normalizer: Normalizer | None = None,
        model_type: Literal["unigram", "bpe"] = "unigram",
        byte_fallback: bool = True,
        character_coverage: float | None = None,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
    ) -> "Preprocessor":
        """Makes a preprocessor whose tokenizers are trained on a corpus.

        Args:
            source_texts: Source side, raw: it is normalised here.
            target_texts: Target side, raw.
            tokenizer: Kind of tokenizer, see `train_tokenizer`.
            vocabulary_size: The most ids (of each side when they are separate).
            shared: Whether both sides have one vocabulary.
            normalizer: See `Preprocessor`.
            model_type: See `train_tokenizer`.
            byte_fallback: See `train_tokenizer`.
            character_coverage: See `train_tokenizer`.
            unknown: See `Tokenizer`.
            unknown_mark: See `Tokenizer`.

        Returns:
            The preprocessor.

        Raises:
            TypeError: A side is no list of strings.
            ValueError: An argument is out of its range, or the sides are not equally long.
            TextError: A side has no text, or `vocabulary_size` cannot hold its characters.
        """
        normalizer = checked_part("normalizer", normalizer or Normalizer(), Normalizer)
        source = list_of_strings("source_texts", source_texts)
        target = list_of_strings("target_texts", target_texts)
        if len(source) != len(target):
            raise ValueError(
                "`source_texts` and `target_texts` must be equally many, one target for each source. "
                f"Received: {len(source)} and {len(target)}"
            )
        source, target = normalizer.normalize_texts(source), normalizer.normalize_texts(target)

        def trained(texts: Iterable[str]) -> Tokenizer:
            return train_tokenizer(
                tokenizer,
                texts,
                vocabulary_size,
                model_type=model_type,
                byte_fallback=byte_fallback,
                character_coverage=character_coverage,
                unknown=unknown,
                unknown_mark=unknown_mark,
            )

        if shared:
            return cls(trained(source + target), None, normalizer)
        return cls(trained(source), trained(target), normalizer)

    @property
    def shared(self) -> bool:
        """Whether both sides have one vocabulary."""
        return self.source_tokenizer is self.target_tokenizer

    @property
    def source_vocabulary_size(self) -> int:
        """The number of source ids."""
        return self.source_tokenizer.vocabulary_size + len(self.source_form.special_tokens)

    @property
    def target_vocabulary_size(self) -> int:
        """The number of target ids; of one vocabulary for both sides the special ones are among them."""
        return self.source_vocabulary_size if self.shared else self.target_tokenizer.vocabulary_size

    @property
    def source_tokens(self) -> list[str]:
        """The piece or special token of each source id."""
        return [*self.source_tokenizer.tokens, *self.source_form.special_tokens]

    @property
    def unanswerable_ids(self) -> tuple[int, ...]:
        """Target ids that are for sources alone, and no part of any answer."""
        return tuple(range(self.target_tokenizer.vocabulary_size, self.target_vocabulary_size))

    @property
    def custom_ops(self) -> tuple[str, ...]:
        """Operations in the graph that core TensorFlow lacks; `import tensorflow_text` brings them."""
        parts = (self.normalizer, self.source_tokenizer, self.target_tokenizer)
        return tuple(sorted({op for part in parts for op in part.custom_ops}))

    @property
    def core_ops_only(self) -> bool:
        """Whether a SavedModel with this runs where only core TensorFlow is known."""
        return not self.custom_ops

    def encode_source(self, strings: Any) -> tf.RaggedTensor:
        """Returns the ids that the encoder reads.

        Args:
            strings: string `[B]`, raw; or lines, see `SourceForm`, whose columns are raw.

        Returns:
            Ragged int32 `[B, None]`: the pieces and, with `source_end`, the end; the end alone for an empty
            string.

        Raises:
            tf.errors.InvalidArgumentError: A line has an unknown tag, or other columns than it must.
        """
        if self.source_form.is_plain:
            ids = self.source_tokenizer.tokenize(self.normalizer(strings))
        else:
            lines = tf.convert_to_tensor(strings, tf.string)
            ids = ids_of_parts(self.source_tokenizer, *self.source_form.split(lines, self.normalizer))
        return ended(ids, only_empty=not self.source_end)

    def source_sampler(self, texts: Sequence[str], alpha: float) -> EnclosedSampler:
        """What draws other segmentations of normalised sources, with ids as `encode_source` has them.

        Args:
            texts: What `encode_source` takes, normalised.
            alpha: See `SubwordSampler`.

        Raises:
            TextError: The tokenizer cannot be sampled from.
        """
        if self.source_form.is_plain:
            text, token = single_parts(texts)
        else:
            text, token = self.source_form.split(tf.constant(list(texts), tf.string), self.normalizer)
        if not self.source_end:
            raise TextError("sources without an end token cannot be sampled from: text.source_end is false")
        return EnclosedSampler(self.source_tokenizer, text, token, alpha, has_start=False)

    def encode_target(self, strings: Any) -> tf.RaggedTensor:
        """Returns the pieces of the target side.

        Args:
            strings: string `[B]`, raw.

        Returns:
            Ragged int32 `[B, None]`: the pieces, without start and end (`assemble` adds them).
        """
        return self.target_tokenizer.tokenize(self.normalizer(strings))

    def decode_source(self, ids: Any) -> tf.Tensor:
        """Returns the text of source ids, as `decode_target` does; special tokens are left out."""
        is_special = tf.cast(ids, tf.int32) >= self.source_tokenizer.vocabulary_size
        return self.source_tokenizer.detokenize(tf.where(is_special, PAD_ID, ids))

    def decode_target(self, ids: Any) -> tf.Tensor:
        """Returns the text of target ids.

        Args:
            ids: int32 `[B, T]`, padded or ragged; padding, start and end are left out.

        Returns:
            string `[B]`.
        """
        return self.target_tokenizer.detokenize(ids)

    def assemble(
        self,
        source_ids: tf.RaggedTensor,
        target_ids: tf.RaggedTensor,
        source_length: int | tf.Tensor | None = None,
        target_length: int | tf.Tensor | None = None,
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Makes the arguments of a training step: the model sees each target up to the piece it must predict.

        Args:
            source_ids: Ragged `[B, None]` as from `encode_source`.
            target_ids: Ragged `[B, None]` as from `encode_target`.
            source_length: Length S to pad to; `None`: the longest row.
            target_length: Length T to pad to, one more than the pieces of the longest row; `None`: that.

        Returns:
            `({"source_ids": int32 [B, S], "target_ids": int32 [B, T]}, labels int32 [B, T])`, padded with 0:
            `target_ids` are the start and the pieces, `labels` the pieces and the end.

        Raises:
            TypeError: Ids are not ragged, or no integers.
            ValueError: The sides have different numbers of rows.
            tf.errors.InvalidArgumentError: An id is not in the vocabulary, or a row is longer than asked for;
                or the numbers of rows differ where a graph learns them only when it runs.
        """
        source_ids = checked_ids("source_ids", source_ids, self.source_vocabulary_size)
        target_ids = checked_ids("target_ids", target_ids, self.target_vocabulary_size)
        source_ids, target_ids = _paired(source_ids, target_ids)
        source = padded("source_ids", source_ids, source_length)
        starts = tf.fill([target_ids.nrows(), 1], START_ID)
        shifted = padded("target_ids", tf.concat([starts, target_ids], axis=1), target_length)
        labels = padded("target_ids", ended(target_ids), target_length)
        return {"source_ids": source, "target_ids": shifted}, labels

    def __call__(self, source: Any, target: Any) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Returns `assemble` of both sides' encoded strings `[B]`; fit for `Dataset.map` after `batch`."""
        return self.assemble(self.encode_source(source), self.encode_target(target))

    def save(self, folder: str | Path) -> None:
        """Writes the preprocessor into a folder of its own, which is replaced as a whole.

        Raises:
            TextError: The folder cannot be written.
        """
        sides = {"shared": self.source_tokenizer}
        if not self.shared:
            sides = {"source": self.source_tokenizer, "target": self.target_tokenizer}
        manifest: dict[str, Any] = {"normalizer": self.normalizer.options, "tokenizers": list(sides)}
        if not self.source_form.is_plain:  # else left out, so that older versions read what they understand
            manifest["source_form"] = self.source_form.options
        if not self.source_end:
            manifest["source_end"] = False
        files = {MANIFEST: storage.manifest_bytes(manifest, {})}
        for side, tokenizer in sides.items():
            files |= {f"{side}/{name}": content for name, content in tokenizer.to_files().items()}
        storage.write_folder(folder, files)

    @classmethod
    def load(cls, folder: str | Path) -> "Preprocessor":
        """Loads what `save` has written; the ids are the same.

        Raises:
            TextError: A file is missing, damaged or changed; the message names it.
        """
        path = Path(folder) / MANIFEST
        manifest = storage.read_manifest(path)
        sides = storage.field(manifest, path, "tokenizers", list)
        if sides not in (["shared"], ["source", "target"]):
            rule = '`tokenizers` must be ["shared"] or ["source", "target"]'
            raise TextError(f"{path}: {rule}. Received: {sides}")
        normalizer = saved_normalizer(manifest, path)
        form = _saved_form(manifest, path)
        tokenizers = [load_tokenizer(path.parent / side) for side in sides]
        has_end = storage.field({"source_end": True, **manifest}, path, "source_end", bool)
        return cls(tokenizers[0], tokenizers[-1], normalizer, form, has_end)


def _saved_form(manifest: Mapping[str, Any], path: Path) -> SourceForm:
    """The form of sources that a manifest says; one text each where it says none."""
    try:
        return SourceForm(**manifest.get("source_form", {}))
    except (TypeError, ValueError) as error:
        rule = "`source_form` must hold a SourceForm's arguments"
        raise TextError(f"{path}: {rule}. Received: {error}") from error


def _paired(source_ids: tf.RaggedTensor, target_ids: tf.RaggedTensor) -> tuple[Any, Any]:
    """Refuses sides of different sizes: a model would take one sentence as the source of all."""
    rule = "`source_ids` and `target_ids` must have equally many rows"
    sizes = [source_ids.shape[0], target_ids.shape[0]]
    if None not in sizes:
        if sizes[0] != sizes[1]:
            raise ValueError(f"{rule}. Received: {sizes[0]} and {sizes[1]}")
        return source_ids, target_ids
    check = tf.debugging.assert_equal(source_ids.nrows(), target_ids.nrows(), f"{rule}. Received others")
    with tf.control_dependencies([check]):
        return source_ids, target_ids.with_flat_values(tf.identity(target_ids.flat_values))
