"""Words and punctuation as ids, from core operations alone."""

from collections.abc import Iterable

import tensorflow as tf

from tf_transformer.text.tokenizers import Unknown
from tf_transformer.text.vocabulary import Vocabulary
from tf_transformer.text.vocabulary_tokenizer import JoinedTokenizer, count_words, id_table, most_frequent
from tf_transformer.text.word_splitting import split_words


class WordTokenizer(JoinedTokenizer):
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
        super().__init__(vocabulary, joiners, unknown, unknown_mark)
        self._table = id_table(tf.constant(vocabulary.ordinary))

    @classmethod
    def _learn(cls, texts: Iterable[str], vocabulary_size: int) -> Vocabulary:
        return most_frequent(count_words(texts, joiners=True), vocabulary_size)

    def _lacking(self, texts: Iterable[str], most: int) -> list[str]:
        return self._unknown(count_words(texts, self.joiners), most)

    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        words = split_words(strings, self.joiners)
        return words.with_flat_values(tf.cast(self._table.lookup(words.flat_values), tf.int32))
