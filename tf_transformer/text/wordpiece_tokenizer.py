"""WordPiece: words in the longest pieces that the vocabulary has, greedily from the left."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar

import tensorflow as tf

from tf_transformer.presets import SPECIAL_TOKENS, UNKNOWN_ID
from tf_transformer.text.piece_search import PieceSearch, positions_saved
from tf_transformer.text.sentencepiece_training import note_size, train_word_pieces
from tf_transformer.text.tokenizers import Unknown
from tf_transformer.text.vocabulary import Vocabulary
from tf_transformer.text.vocabulary_tokenizer import JoinedTokenizer, batches, count_words
from tf_transformer.text.word_splitting import JOINER, split_words, stand_alone

_SUFFIX = "##"
_LONGEST_WORD_BYTES = 100
_LONGEST_PIECE = 18  # characters, the mark of a later piece among them


class WordPieceTokenizer(JoinedTokenizer):
    """Splits text by the rule of `word_splitting` and each word into pieces; later pieces begin with `##`.

    A word with a character outside the alphabet, or of more than 100 bytes, is unknown as a whole. Other
    normalised text comes back as it was, when the vocabulary has joiners.

    Args:
        vocabulary: The pieces.
        joiners: Whether tokens without a space before them are marked, as trained vocabularies have it.
        unknown: See `Tokenizer`.
        unknown_mark: See `Tokenizer`.
    """

    kind = "wordpiece"
    custom_ops: ClassVar[tuple[str, ...]] = ("FastWordpieceTokenizeWithOffsets",)

    def __init__(
        self,
        vocabulary: Vocabulary,
        joiners: bool = True,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
    ) -> None:
        super().__init__(vocabulary, joiners, unknown, unknown_mark)
        # Registers its operations when imported, so only where they are needed.
        import tensorflow_text

        self._pieces = tensorflow_text.FastWordpieceTokenizer(
            vocab=list(vocabulary.tokens),
            suffix_indicator=_SUFFIX,
            max_bytes_per_word=_LONGEST_WORD_BYTES,
            token_out_type=tf.int32,
            unknown_token=SPECIAL_TOKENS[UNKNOWN_ID],
            no_pretokenization=True,
            support_detokenization=False,
        )

    @classmethod
    def _learn(
        cls, texts: Iterable[str], vocabulary_size: int, character_coverage: float | None = None
    ) -> Vocabulary:
        """The alphabet and the pieces that byte-pair merging of the corpus makes first.

        Merges by frequency stand in for WordPiece's own likelihood score, which takes two hundred times as
        long.
        """
        alphabet, merged = train_word_pieces(_split(texts), vocabulary_size, character_coverage)
        # What is always a token of its own is never inside a word, but may follow without a space.
        later = [JOINER if alone else _SUFFIX for alone in stand_alone(alphabet)]
        forms = [
            form
            for character, mark in zip(alphabet, later, strict=True)
            for form in (character, mark + character)
        ]
        forms += [piece if first else _SUFFIX + piece for piece, first in merged]
        pieces = list(dict.fromkeys(forms))[: vocabulary_size - len(SPECIAL_TOKENS)]
        note_size(len(SPECIAL_TOKENS) + len(pieces), vocabulary_size)
        return Vocabulary.of(pieces)

    def parts_of(self, pieces: Sequence[str]) -> list[list[int]]:
        """The ids of the longest pieces that spellings are made of; unknown where there are none."""
        ids = {piece: index for index, piece in enumerate(self._vocabulary.tokens)}
        found = []
        for piece in pieces:
            parts = [piece] if piece in ids else self._longest(piece, ids)
            unknown = any(part not in ids for part in parts)
            found.append([UNKNOWN_ID] if unknown else [ids[part] for part in parts])
        return found

    def _lacking(self, texts: Iterable[str], most: int) -> list[str]:
        known = set(self._vocabulary.tokens)
        words = {
            word: count
            for word, count in count_words(texts, self.joiners).items()
            if len(word.encode()) <= _LONGEST_WORD_BYTES
        }
        split = [self._longest(word, known) for word in words]
        counts, form = words.values(), lambda piece: len(piece) <= _LONGEST_PIECE
        search = PieceSearch(split, counts, known, _joined, form, positions_saved, most_parts=_LONGEST_PIECE)
        return [new.spelling for new in search.find(most)]

    @staticmethod
    def _longest(text: str, known: Collection[str]) -> list[str]:
        """A word, or its rest behind `##`, in the longest pieces; a character that is none is by itself."""
        parts, mark, rest = [], "", text
        if text.startswith(_SUFFIX) and len(text) > len(_SUFFIX):
            mark, rest = _SUFFIX, text[len(_SUFFIX) :]
        while rest:
            size = next((n for n in range(len(rest), 1, -1) if mark + rest[:n] in known), 1)
            parts.append(mark + rest[:size])
            mark, rest = _SUFFIX, rest[size:]
        return parts

    def _surface(self, token: str) -> str:
        if token.startswith(_SUFFIX) and len(token) > len(_SUFFIX):
            return token[len(_SUFFIX) :]
        return super()._surface(token)

    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        pieces = self._pieces.tokenize(split_words(strings, self.joiners))  # [B, words, pieces]
        return pieces.merge_dims(1, 2)


def _joined(parts: Sequence[str]) -> str:
    return parts[0] + "".join(part.removeprefix(_SUFFIX) for part in parts[1:])


def _split(texts: Iterable[str]) -> Iterator[str]:
    for batch in batches(texts):
        words = split_words(tf.constant(batch), joiners=True)
        for line in tf.strings.reduce_join(words, axis=-1, separator=" ").numpy():
            yield line.decode("utf-8")
