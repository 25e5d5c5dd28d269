"""Unknown pieces of a translation, named by the source words that they stand for."""

from collections.abc import Iterator, Sequence

import tensorflow as tf

from tf_transformer.presets import UNKNOWN_ID
from tf_transformer.tasks.hypothesis import Details
from tf_transformer.text import Preprocessor
from tf_transformer.text.word_splitting import split_words


def named_unknowns(preprocessor: Preprocessor, line: str, text: str, details: Details) -> str:
    """A translation whose unknown pieces are source words.

    Args:
        preprocessor: Of the translator; its target tokenizer marks unknown pieces.
        line: The source.
        text: The translation, a mark for each unknown piece.
        details: Of the translation.

    Returns:
        The text; as it was where it cannot be told which mark or which word is meant.
    """
    tokenizer = preprocessor.target_tokenizer
    unknown = tokenizer.tokens[UNKNOWN_ID]
    places = [place for place, piece in enumerate(details.pieces) if piece == unknown]
    parts = text.split(tokenizer.unknown_mark)
    if not places or len(parts) != len(places) + 1:
        return text
    words = source_words(preprocessor, line, details.source_pieces)
    named = [words[details.alignment[place]] or tokenizer.unknown_mark for place in places]
    return parts[0] + "".join(word + rest for word, rest in zip(named, parts[1:], strict=True))


def source_words(preprocessor: Preprocessor, line: str, pieces: Sequence[str]) -> list[str]:
    """The word of the source that each of its pieces belongs to; "" for a special token."""
    special = {*preprocessor.source_form.special_tokens, preprocessor.source_tokens[3]}
    places = [place for place, piece in enumerate(pieces) if piece not in special]
    words = [""] * len(pieces)
    for found in _segmentations(preprocessor, line):
        if len(found) >= len(places):  # the end of a long source was cut
            for place, word in zip(places, found, strict=False):
                words[place] = word
            break
    return words


def _segmentations(preprocessor: Preprocessor, line: str) -> Iterator[list[str]]:
    """Words, one a piece, of ways to split a source that give as many pieces as the whole."""
    form, tokenizer = preprocessor.source_form, preprocessor.source_tokenizer
    columns = preprocessor.normalizer.normalize_texts(form.fields(line)[bool(form.tags) :])
    total = sum(tokenizer.tokenize(tf.constant(columns)).row_lengths().numpy())
    splits = [split_words(tf.constant(columns), joiners=False).flat_values.numpy().tolist()]
    splits.append([word.encode() for column in columns for word in column.split()])
    splits.append([letter.encode() for column in columns for letter in column])
    for units in splits:
        if not units:
            continue
        counts = tokenizer.tokenize(tf.constant(units)).row_lengths().numpy()
        if sum(counts) == total:
            pairs = zip(units, counts, strict=True)
            yield [unit.decode() for unit, count in pairs for _ in range(count)]
