"""Characters (Unicode code points) as ids, from core operations alone."""

from collections import Counter
from collections.abc import Iterable

import tensorflow as tf

from tf_transformer.presets import SPECIAL_TOKENS, UNKNOWN_ID
from tf_transformer.text.tokenizers import Unknown
from tf_transformer.text.vocabulary import Vocabulary
from tf_transformer.text.vocabulary_tokenizer import VocabularyTokenizer, batches, most_frequent


class CharacterTokenizer(VocabularyTokenizer):
    """Gives each code point an id, the space too; those outside the vocabulary are unknown.

    Text of known characters comes back as it was.

    Args:
        vocabulary: The characters.
        unknown: See `Tokenizer`.
        unknown_mark: See `Tokenizer`.

    Raises:
        ValueError: A token is more than one code point.
    """

    kind = "characters"

    def __init__(
        self, vocabulary: Vocabulary, unknown: Unknown = "mark", unknown_mark: str = "<unk>"
    ) -> None:
        longer = [token for token in vocabulary.ordinary if len(token) != 1]
        if longer:
            raise ValueError(f"`vocabulary` must hold single characters alone. Received: {longer[0]!r}")
        super().__init__(vocabulary, unknown, unknown_mark)
        codes = tf.constant([ord(token) for token in vocabulary.ordinary], tf.int64)
        ids = tf.range(len(SPECIAL_TOKENS), len(vocabulary), dtype=tf.int64)
        self._table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(codes, ids), UNKNOWN_ID)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocabulary_size: int,
        *,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
    ) -> "CharacterTokenizer":
        """Takes the most frequent characters; arguments and errors as in `train_tokenizer`."""
        counts: Counter[str] = Counter()
        for batch in batches(texts):
            counts.update("".join(batch))
        return cls(most_frequent(counts, vocabulary_size), unknown, unknown_mark)

    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        codes = tf.strings.unicode_decode(strings, "UTF-8")
        ids = self._table.lookup(tf.cast(codes.flat_values, tf.int64))
        return codes.with_flat_values(tf.cast(ids, tf.int32))
