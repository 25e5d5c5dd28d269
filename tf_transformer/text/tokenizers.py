"""What every tokenizer does, and the ways to get one: trained, imported from a file, loaded from a folder.

Ids are the same for all kinds: 0 padding, 1 unknown, 2 start, 3 end (`presets`), then the pieces. No text
becomes 0, 2 or 3, whatever it spells. `tokenize` adds no start or end.
"""

import abc
import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import tensorflow as tf

from tf_transformer.arguments import each_string, whole_number
from tf_transformer.errors import TextError
from tf_transformer.presets import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from tf_transformer.text import storage

Unknown = Literal["mark", "drop"]

MANIFEST: Final = "tokenizer.json"
TOKENIZERS: Final = {
    "sentencepiece": ("sentencepiece_tokenizer", "SentencePieceTokenizer"),
    "wordpiece": ("wordpiece_tokenizer", "WordPieceTokenizer"),
    "words": ("word_tokenizer", "WordTokenizer"),
    "characters": ("character_tokenizer", "CharacterTokenizer"),
    "bytes": ("byte_tokenizer", "ByteTokenizer"),
}
"""Module and class of each kind, imported when asked for."""


class Tokenizer(tf.Module):
    """Strings to ids and back inside the graph; base of the kinds, saved with the module that holds it.

    Args:
        unknown: What an unknown id becomes in text: `"mark"` (`unknown_mark`) or `"drop"` (nothing).
        unknown_mark: The text that stands for an unknown piece.

    Raises:
        TypeError: `unknown_mark` is no string.
        ValueError: `unknown` is none of the two, or `unknown_mark` would break lines.
    """

    kind: ClassVar[str]
    custom_ops: ClassVar[tuple[str, ...]] = ()
    """Operations in the graph that core TensorFlow lacks; `import tensorflow_text` brings them."""

    def __init__(self, unknown: Unknown = "mark", unknown_mark: str = "<unk>") -> None:
        super().__init__()
        if unknown not in ("mark", "drop"):
            raise ValueError(f'`unknown` must be "mark" or "drop". Received: {unknown!r}')
        if not isinstance(unknown_mark, str):
            raise TypeError(f"`unknown_mark` must be a string. Received: {unknown_mark!r}")
        if not unknown_mark.isprintable():
            raise ValueError(
                f"`unknown_mark` must have no line breaks or control characters. Received: {unknown_mark!r}"
            )
        self.unknown = unknown
        self.unknown_mark = unknown_mark

    @property
    @abc.abstractmethod
    def tokens(self) -> list[str]:
        """The piece of each id, the special tokens first."""

    @property
    def vocabulary_size(self) -> int:
        """The number of ids."""
        return len(self.tokens)

    @property
    def core_ops_only(self) -> bool:
        """Whether a SavedModel with this tokenizer runs where only core TensorFlow is known."""
        return not self.custom_ops

    def tokenize(self, strings: Any) -> tf.RaggedTensor:
        """Splits strings into pieces.

        Args:
            strings: string tensor `[B]`, UTF-8, normalised (`Normalizer`).

        Returns:
            Ragged int32 `[B, None]`, without start and end; no pieces for the empty string.

        Raises:
            ValueError: `strings` is not of rank 1.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        if strings.shape.rank not in (None, 1):
            raise ValueError(f"`strings` must have the shape [B]. Received: shape {tuple(strings.shape)}")
        return self._tokenize(strings)

    def detokenize(self, ids: Any) -> tf.Tensor:
        """Puts pieces together again; padding, start and end are left out wherever they stand.

        Args:
            ids: int32 `[B, T]`, padded or ragged.

        Returns:
            string tensor `[B]`, UTF-8.

        Raises:
            TypeError: `ids` are not integers.
            ValueError: `ids` are not of rank 2.
            tf.errors.OpError: An id is not in the vocabulary.
        """
        ids = ids if isinstance(ids, tf.RaggedTensor) else tf.convert_to_tensor(ids)
        if not ids.dtype.is_integer:
            raise TypeError(f"`ids` must be integers. Received: {ids.dtype.name}")
        if ids.shape.rank not in (None, 2):
            raise ValueError(f"`ids` must have the shape [B, T]. Received: shape {tuple(ids.shape)}")
        ids = tf.cast(ids, tf.int32)
        keep = (ids != PAD_ID) & (ids != START_ID) & (ids != END_ID)
        if self.unknown == "drop":
            keep &= ids != UNKNOWN_ID
        return self._detokenize(tf.ragged.boolean_mask(ids, keep))

    @abc.abstractmethod
    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """`tokenize` for strings that are a tensor `[B]`."""

    @abc.abstractmethod
    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """`detokenize` for ragged int32 ids of pieces and unknowns alone."""

    @abc.abstractmethod
    def parts_of(self, pieces: Sequence[str]) -> list[list[int]]:
        """The ids that the texts of some pieces become, which are spelled as this kind spells them."""

    @abc.abstractmethod
    def grown(self, texts: Iterable[str], most: int) -> Self:
        """The tokenizer with more pieces behind its own, those that save most of the length of some texts.

        Args:
            texts: Normalised texts.
            most: How many pieces at most; there are fewer where nothing else is in the texts twice.

        Raises:
            TextError: No pieces can be added to this tokenizer.
        """

    @property
    def options(self) -> dict[str, Any]:
        """What beside the files makes the tokenizer; goes into `tokenizer.json`."""
        return {"unknown": self.unknown, "unknown_mark": self.unknown_mark}

    @abc.abstractmethod
    def model_files(self) -> dict[str, bytes]:
        """Content by name of the files that hold the pieces."""

    @classmethod
    @abc.abstractmethod
    def read(cls, files: Mapping[str, Path], vocabulary_size: int, options: Mapping[str, Any]) -> "Tokenizer":
        """Makes the tokenizer from its saved files."""

    def to_files(self) -> dict[str, bytes]:
        """Returns the content of the folder that `save` writes, by file name."""
        files = self.model_files()
        manifest = {"kind": self.kind, "vocabulary_size": self.vocabulary_size, "options": self.options}
        return {**files, MANIFEST: storage.manifest_bytes(manifest, files)}

    def save(self, folder: str | Path) -> None:
        """Writes the tokenizer into a folder of its own, which is replaced as a whole.

        Raises:
            TextError: The folder cannot be written.
        """
        storage.write_folder(folder, self.to_files())


def tokenizer_class(kind: str) -> type[Tokenizer]:
    """Returns the class of a kind of tokenizer.

    Raises:
        ValueError: No such kind.
    """
    if not isinstance(kind, str) or kind not in TOKENIZERS:
        raise ValueError(f"`kind` must be one of {', '.join(TOKENIZERS)}. Received: {kind!r}")
    module, name = TOKENIZERS[kind]
    found: type[Tokenizer] = getattr(importlib.import_module(f"tf_transformer.text.{module}"), name)
    return found


def train_tokenizer(
    kind: str,
    texts: Iterable[str],
    vocabulary_size: int = 8000,
    *,
    model_type: Literal["unigram", "bpe"] = "unigram",
    byte_fallback: bool = True,
    character_coverage: float | None = None,
    unknown: Unknown = "mark",
    unknown_mark: str = "<unk>",
) -> Tokenizer:
    """Makes a tokenizer from a corpus; the same texts give the same tokenizer on any machine.

    Args:
        kind: `"sentencepiece"`, `"wordpiece"`, `"words"`, `"characters"` or `"bytes"`.
        texts: The corpus, one text an item, normalised.
        vocabulary_size: The most ids, special ones included. A corpus that is too small for it gives fewer,
            which is logged; `"bytes"` always has 260.
        model_type: `"sentencepiece"` alone: `"unigram"` or `"bpe"`.
        byte_fallback: `"sentencepiece"` alone: spells characters outside the vocabulary as bytes, so that
            nothing is unknown (takes 256 ids).
        character_coverage: `"sentencepiece"` and `"wordpiece"` alone: the share of the corpus' characters
            that must be in the alphabet. `None`: all of them if they fit, 0.9995 if not, which is logged;
            with byte fallback, all if they fill a quarter of the vocabulary at most, else 0.9995.
        unknown: See `Tokenizer`.
        unknown_mark: See `Tokenizer`.

    Returns:
        The tokenizer.

    Raises:
        TypeError: `texts` is no iterable of strings, or `vocabulary_size` no whole number.
        ValueError: An argument is out of its range.
        TextError: The corpus has no text, or `vocabulary_size` cannot hold its characters.
    """
    texts = each_string("texts", texts)
    vocabulary_size = whole_number("vocabulary_size", vocabulary_size, 1, tf.int32.max)
    special: dict[str, Any] = {}
    if kind == "sentencepiece":
        special = {"model_type": model_type, "byte_fallback": byte_fallback}
    elif (model_type, byte_fallback) != ("unigram", True):
        raise ValueError(
            '`model_type` and `byte_fallback` must be left alone unless `kind` is "sentencepiece". '
            f"Received: kind={kind!r}, model_type={model_type!r}, byte_fallback={byte_fallback!r}"
        )
    if kind in ("sentencepiece", "wordpiece"):
        special["character_coverage"] = character_coverage
    elif character_coverage is not None:
        raise ValueError(
            f"`character_coverage` must be None with the tokenizer {kind!r}. Received: {character_coverage!r}"
        )
    maker: Any = tokenizer_class(kind)
    tokenizer: Tokenizer = maker.train(
        texts, vocabulary_size, unknown=unknown, unknown_mark=unknown_mark, **special
    )
    return tokenizer


def import_tokenizer(
    kind: str, path: str | Path, *, unknown: Unknown = "mark", unknown_mark: str = "<unk>"
) -> Tokenizer:
    """Makes a tokenizer from a file that another tool or run has written.

    Args:
        kind: `"sentencepiece"` (a `.model` file), `"wordpiece"`, `"words"` or `"characters"` (a vocabulary
            file, see `read_vocabulary`); `"bytes"` has no file.
        path: The file. Its special tokens move to ids 0 to 3, so ids may differ from the other tool's.
        unknown: See `Tokenizer`.
        unknown_mark: See `Tokenizer`.

    Returns:
        The tokenizer.

    Raises:
        ValueError: `kind` is unknown or has no file.
        TextError: The file is not of this kind; the message names it.
    """
    maker: Any = tokenizer_class(kind)
    if kind == "bytes":
        raise ValueError('`kind` must be one that has a file, and bytes have none. Received: "bytes"')
    tokenizer: Tokenizer = maker.from_file(Path(path), unknown=unknown, unknown_mark=unknown_mark)
    return tokenizer


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """Loads what `Tokenizer.save` has written; the ids are the same.

    Raises:
        TextError: A file is missing, damaged, changed, or of another size than `tokenizer.json` says.
    """
    path = Path(folder) / MANIFEST
    manifest = storage.read_manifest(path)
    kind = storage.field(manifest, path, "kind", str)
    size = storage.field(manifest, path, "vocabulary_size", int)
    options = storage.field(manifest, path, "options", dict)
    names = storage.field(manifest, path, "files", dict)
    if kind not in TOKENIZERS:
        raise TextError(f"{path}: `kind` must be one of {', '.join(TOKENIZERS)}. Received: {kind!r}")
    foreign = [name for name in names if Path(name).name != name]
    if foreign:
        raise TextError(f"{path}: `files` must be names of files beside it. Received: {foreign[0]!r}")
    files = {name: path.parent / name for name in names}
    try:
        tokenizer = tokenizer_class(kind).read(files, size, options)
    except (KeyError, TypeError, ValueError) as error:
        raise TextError(f"{path}: must describe a tokenizer of kind {kind}. Received: {error}") from error
    for file in files.values():
        storage.check_unchanged(file, storage.read_bytes(file), path, manifest)
    if tokenizer.vocabulary_size != size:
        raise TextError(
            f"{path}: `vocabulary_size` must be {tokenizer.vocabulary_size}, the size of the tokenizer. "
            f"Received: {size}"
        )
    return tokenizer
