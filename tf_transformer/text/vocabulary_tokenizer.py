"""What the tokenizers with a vocabulary file share: the file, and text from a table of surfaces."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import tensorflow as tf

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS, UNKNOWN_ID
from tf_transformer.text.tokenizers import Tokenizer, Unknown
from tf_transformer.text.vocabulary import Vocabulary, read_saved, read_vocabulary

VOCABULARY_FILE = "vocabulary.txt"


class VocabularyTokenizer(Tokenizer):
    """Base of the kinds whose pieces are a list of texts.

    Args:
        vocabulary: The pieces.
        unknown: See `Tokenizer`.
        unknown_mark: See `Tokenizer`.
    """

    def __init__(
        self, vocabulary: Vocabulary, unknown: Unknown = "mark", unknown_mark: str = "<unk>"
    ) -> None:
        super().__init__(unknown, unknown_mark)
        self._vocabulary = vocabulary
        # Padding, start and end never come to a table (`Tokenizer.detokenize`).
        special = ["" if index != UNKNOWN_ID else self._surface(unknown_mark) for index in range(4)]
        self._surfaces = tf.constant(special + [self._surface(token) for token in vocabulary.ordinary])

    def _surface(self, token: str) -> str:
        """What a piece adds to the text."""
        return token

    @classmethod
    def from_file(cls, path: Path, unknown: Unknown = "mark", unknown_mark: str = "<unk>") -> Self:
        """Imports a vocabulary file, see `read_vocabulary`."""
        vocabulary = read_vocabulary(path)
        try:
            return cls(
                vocabulary, unknown=unknown, unknown_mark=unknown_mark, **cls._import_options(vocabulary)
            )
        except ValueError as error:
            raise TextError(f"{path}: {error}") from error

    @classmethod
    def _import_options(cls, vocabulary: Vocabulary) -> dict[str, Any]:
        """Further arguments that an imported vocabulary calls for."""
        del vocabulary
        return {}

    @classmethod
    def read(cls, files: Mapping[str, Path], vocabulary_size: int, options: Mapping[str, Any]) -> Self:
        """Makes the tokenizer from its saved files."""
        return cls(read_saved(files[VOCABULARY_FILE], vocabulary_size), **options)

    @property
    def tokens(self) -> list[str]:
        """The piece of each id."""
        return list(self._vocabulary.tokens)

    @property
    def vocabulary_size(self) -> int:
        """The number of ids."""
        return len(self._vocabulary)

    def model_files(self) -> dict[str, bytes]:
        """Content by name of the files that hold the pieces."""
        return {VOCABULARY_FILE: self._vocabulary.to_bytes()}

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return tf.strings.reduce_join(tf.gather(self._surfaces, ids), axis=-1)


def most_frequent(counts: Mapping[str, int], vocabulary_size: int) -> Vocabulary:
    """Makes a vocabulary of the most frequent pieces, ties in the order of their code points.

    Args:
        counts: How often each piece is in the corpus.
        vocabulary_size: The most ids, special ones included.

    Raises:
        ValueError: `vocabulary_size` leaves no place beside the special tokens.
        TextError: There are no pieces.
    """
    least = len(SPECIAL_TOKENS) + 1
    if vocabulary_size < least:
        raise ValueError(f"`vocabulary_size` must be at least {least}. Received: {vocabulary_size}")
    if not counts:
        raise TextError("a tokenizer needs at least one text that is not empty. Received: none")
    ranked = sorted(counts, key=lambda piece: (-counts[piece], piece))
    return Vocabulary.of(ranked[: vocabulary_size - len(SPECIAL_TOKENS)])


def batches(texts: Iterable[str], size: int = 4096) -> Iterable[list[str]]:
    """Yields texts in lists of `size`, line feeds in them as they are, lone surrogates replaced."""
    batch: list[str] = []
    for text in texts:
        batch.append(text.encode("utf-8", "replace").decode("utf-8"))
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
