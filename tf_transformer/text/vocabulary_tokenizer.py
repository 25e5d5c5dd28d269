"""What the tokenizers with a vocabulary file share: the file, and text from a table of surfaces."""

import abc
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import tensorflow as tf

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS, UNKNOWN_ID
from tf_transformer.text.tokenizers import Tokenizer, Unknown
from tf_transformer.text.vocabulary import Vocabulary, read_saved, read_vocabulary
from tf_transformer.text.word_splitting import JOINER, split_words, surface, tidy

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
    def train(
        cls,
        texts: Iterable[str],
        vocabulary_size: int,
        *,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
        **options: Any,
    ) -> Self:
        """Learns the pieces of a corpus; arguments and errors as in `train_tokenizer`."""
        vocabulary = cls._learn(texts, vocabulary_size, **options)
        return cls(vocabulary, unknown=unknown, unknown_mark=unknown_mark)

    @classmethod
    @abc.abstractmethod
    def _learn(cls, texts: Iterable[str], vocabulary_size: int) -> Vocabulary:
        """The pieces of a corpus, at most so many that there are `vocabulary_size` ids."""

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

    def parts_of(self, pieces: Sequence[str]) -> list[list[int]]:
        """The ids of pieces; what is none is unknown as a whole."""
        ids = {piece: index for index, piece in enumerate(self._vocabulary.tokens)}
        return [[ids.get(piece, UNKNOWN_ID)] for piece in pieces]

    def grown(self, texts: Iterable[str], most: int) -> Self:
        """The tokenizer with more pieces behind its own."""
        pieces = [*self._vocabulary.ordinary, *self._lacking(texts, most)]
        return type(self)(Vocabulary.of(pieces), **self.options)

    @abc.abstractmethod
    def _lacking(self, texts: Iterable[str], most: int) -> list[str]:
        """The pieces that texts lack most, each of which is there at least twice."""

    def _unknown(self, counts: Mapping[str, int], most: int) -> list[str]:
        """The most frequent pieces that there are none of, ties in the order of their code points."""
        known = set(self._vocabulary.tokens)
        lacking = [piece for piece, count in counts.items() if count > 1 and piece not in known]
        return sorted(lacking, key=lambda piece: (-counts[piece], piece))[:most]

    def model_files(self) -> dict[str, bytes]:
        """Content by name of the files that hold the pieces."""
        return {VOCABULARY_FILE: self._vocabulary.to_bytes()}

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return tf.strings.reduce_join(tf.gather(self._surfaces, ids), axis=-1)


class JoinedTokenizer(VocabularyTokenizer):
    """Base of the kinds that split text by the rule of `word_splitting`.

    Args:
        vocabulary: The pieces.
        joiners: Whether tokens without a space before them are marked, as trained vocabularies have it.
        unknown: See `Tokenizer`.
        unknown_mark: See `Tokenizer`.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        joiners: bool = True,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
    ) -> None:
        self.joiners = bool(joiners)
        super().__init__(vocabulary, unknown, unknown_mark)

    @classmethod
    def _import_options(cls, vocabulary: Vocabulary) -> dict[str, Any]:
        # Whether the vocabulary was made for text that is split with joiners.
        marked = any(token.startswith(JOINER) and len(token) > 1 for token in vocabulary.ordinary)
        return {"joiners": marked}

    @property
    def options(self) -> dict[str, Any]:
        """What beside the files makes the tokenizer; goes into `tokenizer.json`."""
        return {**super().options, "joiners": self.joiners}

    def _surface(self, token: str) -> str:
        return surface(token, self.joiners)

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return tidy(super()._detokenize(ids), self.joiners)


def id_table(keys: tf.Tensor) -> tf.lookup.StaticHashTable:
    """A table from the ordinary pieces, in their order, to int64 ids; what is not among them is unknown.

    The special tokens are not among the keys: text cannot become one, however it is split.
    """
    first = len(SPECIAL_TOKENS)
    ids = tf.range(first, first + keys.shape[0], dtype=tf.int64)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, ids), UNKNOWN_ID)


def count_words(texts: Iterable[str], joiners: bool) -> Counter[str]:
    """How often each word of texts, as `split_words` splits them, is there."""
    counts: Counter[bytes] = Counter()
    for batch in batches(texts):
        counts.update(split_words(tf.constant(batch), joiners).flat_values.numpy().tolist())
    return Counter({word.decode("utf-8"): count for word, count in counts.items()})


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
