"""Characters (Unicode code points) as ids, from core operations alone."""

from collections import Counter
from collections.abc import Iterable

import tensorflow as tf

from tf_transformer.text.tokenizers import Unknown
from tf_transformer.text.vocabulary import Vocabulary
from tf_transformer.text.vocabulary_tokenizer import VocabularyTokenizer, batches, id_table, most_frequent


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
        self._table = id_table(tf.constant([ord(token) for token in vocabulary.ordinary], tf.int64))

    @classmethod
    def _learn(cls, texts: Iterable[str], vocabulary_size: int) -> Vocabulary:
        return most_frequent(_count(texts), vocabulary_size)

    def _lacking(self, texts: Iterable[str], most: int) -> list[str]:
        return self._unknown(_count(texts), most)

    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        codes = tf.strings.unicode_decode(strings, "UTF-8")
        ids = self._table.lookup(tf.cast(codes.flat_values, tf.int64))
        return codes.with_flat_values(tf.cast(ids, tf.int32))


def _count(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for batch in batches(texts):
        counts.update("".join(batch))
    return counts
