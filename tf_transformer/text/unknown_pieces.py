"""Which parts of a text a tokenizer does not know: words where it looks words up, characters elsewhere."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from tf_transformer.presets import SPECIAL_TOKENS, UNKNOWN_ID
from tf_transformer.text.tokenizers import Tokenizer
from tf_transformer.text.vocabulary_tokenizer import batches, count_words
from tf_transformer.text.word_splitting import JOINER
from tf_transformer.text.word_tokenizer import WordTokenizer
from tf_transformer.text.wordpiece_tokenizer import WordPieceTokenizer


@dataclass(frozen=True)
class UnknownPieces:
    """What is unknown of some texts.

    Args:
        unit: What is counted: ``word`` or ``character``.
        total: How many there are.
        found: Those that are unknown, each with how often it stands there, the most frequent first.
    """

    unit: str
    total: int
    found: tuple[tuple[str, int], ...]

    @property
    def count(self) -> int:
        """How many are unknown in all."""
        return sum(count for _, count in self.found)


def unknown_pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> UnknownPieces:
    """Counts what a tokenizer does not know.

    Args:
        tokenizer: The tokenizer.
        texts: Normalised texts, without special tokens.
    """
    if isinstance(tokenizer, WordTokenizer):
        return _looked_up(tokenizer, texts)
    of_words = isinstance(tokenizer, WordPieceTokenizer)
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text.split() if of_words else text)
    found = {piece: counts[piece] for piece in _unknown(tokenizer, counts)}
    return UnknownPieces("word" if of_words else "character", counts.total(), _sorted(found))


def _looked_up(tokenizer: WordTokenizer, texts: Sequence[str]) -> UnknownPieces:
    """Words and punctuation, as this tokenizer splits them."""
    counts, found = count_words(texts, tokenizer.joiners), Counter[str]()
    known = set(tokenizer.tokens[len(SPECIAL_TOKENS) :])  # what is spelled as a special token is unknown
    for word in counts.keys() - known:
        found[word.strip(JOINER)] += counts[word]
    return UnknownPieces("word", counts.total(), _sorted(found))


def _sorted(found: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _unknown(tokenizer: Tokenizer, pieces: Iterable[str]) -> list[str]:
    """Those with an unknown piece in them when they stand alone."""
    found: list[str] = []
    for batch in batches(pieces):
        ids = tokenizer.tokenize(tf.constant(batch))
        rows = np.unique(ids.value_rowids().numpy()[ids.flat_values.numpy() == UNKNOWN_ID])
        found += [batch[row] for row in rows]
    return found
