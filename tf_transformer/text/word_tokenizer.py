"""Words and punctuation as ids, from core operations alone."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tf_transformer.presets import SPECIAL_TOKENS, UNKNOWN_ID
from tf_transformer.text.tokenizers import Unknown
from tf_transformer.text.vocabulary import Vocabulary
from tf_transformer.text.vocabulary_tokenizer import VocabularyTokenizer, batches, most_frequent
from tf_transformer.text.word_splitting import JOINER, split_words, surface, tidy


class WordTokenizer(VocabularyTokenizer):
    """Looks up whole words, split by the rule of `word_splitting`; what is not in the vocabulary is unknown.

    Normalised text of known words comes back as it was; an unknown word leaves its mark, with a space before.

    Args:
        vocabulary: The words.
        joiners: Whether tokens without a space before them are marked, as trained vocabularies have it.
        unknown: See `Tokenizer`.
        unknown_mark: See `Tokenizer`.
    """

    kind = "words"

    def __init__(
        self,
        vocabulary: Vocabulary,
        joiners: bool = True,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
    ) -> None:
        self.joiners = bool(joiners)
        super().__init__(vocabulary, unknown, unknown_mark)
        # The special tokens are not among the keys: text cannot become one, however it is split.
        keys = tf.constant(vocabulary.ordinary)
        ids = tf.range(len(SPECIAL_TOKENS), len(vocabulary), dtype=tf.int64)
        self._table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, ids), UNKNOWN_ID)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocabulary_size: int,
        *,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
    ) -> "WordTokenizer":
        """Takes the most frequent words; arguments and errors as in `train_tokenizer`."""
        counts: Counter[bytes] = Counter()
        for batch in batches(texts):
            counts.update(split_words(tf.constant(batch), joiners=True).flat_values.numpy().tolist())
        words = {word.decode("utf-8"): count for word, count in counts.items()}
        return cls(most_frequent(words, vocabulary_size), True, unknown, unknown_mark)

    @classmethod
    def _import_options(cls, vocabulary: Vocabulary) -> dict[str, Any]:
        return {"joiners": has_joiners(vocabulary)}

    @property
    def options(self) -> dict[str, Any]:
        """What beside the files makes the tokenizer; goes into `tokenizer.json`."""
        return {**super().options, "joiners": self.joiners}

    def _surface(self, token: str) -> str:
        return surface(token, self.joiners)

    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        words = split_words(strings, self.joiners)
        return words.with_flat_values(tf.cast(self._table.lookup(words.flat_values), tf.int32))

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return tidy(super()._detokenize(ids), self.joiners)


def has_joiners(vocabulary: Vocabulary) -> bool:
    """Whether a vocabulary was made for text that is split with joiners."""
    return any(token.startswith(JOINER) and len(token) > 1 for token in vocabulary.ordinary)
