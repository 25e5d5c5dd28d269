"""Labelled texts of a recipe: their special tokens, their labels, and word vectors."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.build.classification import unseen_labels
from tf_transformer.build.text_data import TextSet, build_normalizer
from tf_transformer.data.label_numbers import OnUnseen
from tf_transformer.data.report import Finding
from tf_transformer.data.sources import Corpus
from tf_transformer.data.word_vectors import read_word_vectors
from tf_transformer.errors import DataError, counted
from tf_transformer.recipe.classify_text import ClassifyTextRecipe
from tf_transformer.text import ClassificationPreprocessor, MarkingNormalizer, Normalizer
from tf_transformer.text.word_splitting import JOINER

_BEGINNINGS = ("\u2581", JOINER, "##")
"""What tokenizers put before a piece that begins a word, or goes on with one."""


def build_marking(recipe: ClassifyTextRecipe) -> Normalizer:
    """The normalizer of a recipe; it finds the recipe's special tokens, where there are some."""
    plain = build_normalizer(recipe.text)
    if not recipe.text.special_tokens:
        return plain
    return MarkingNormalizer(
        recipe.text.special_tokens, plain.normal_form, plain.lowercase, once=recipe.model.uses_marks
    )


def well_marked(corpus: Corpus, normalizer: Normalizer, on_bad_row: str) -> Corpus:
    """A cleaned corpus whose texts have their special tokens as they must be.

    Raises:
        DataError: When one has not, and bad rows are errors; or none has.
    """
    if not isinstance(normalizer, MarkingNormalizer):
        return corpus
    faults = {
        row: fault
        for row, text in enumerate(corpus.columns["text"])
        if (fault := normalizer.fault(text)) is not None
    }
    if not faults:
        return corpus
    first = next(iter(faults))
    if on_bad_row == "error" or len(faults) == len(corpus):
        others = f" (and {counted(len(faults) - 1, 'further row')})" if len(faults) > 1 else ""
        raise DataError(f"{place(corpus, first)}: the text {faults[first]}{others}")
    dropped = {"special tokens": Finding.at(corpus.lines[sorted(faults)].tolist())}
    rows = np.array([row for row in range(len(corpus)) if row not in faults], np.int64)
    return corpus.select(rows, corpus.report.extended(dropped))


def place(corpus: Corpus, row: int) -> str:
    """The file and the line that a row's label stands in."""
    return f"{corpus.files[-1]}, line {corpus.lines[row]}"


def check_labels(sets: Sequence[TextSet], labels: Sequence[str], on_unseen: OnUnseen) -> Iterator[str]:
    """Refuses labels that training has not, or tells how many there are.

    Args:
        sets: Dev and test sets.
        labels: Those of training.
        on_unseen: ``"error"`` or ``"wrong"``.

    Yields:
        A line for each corpus with such labels, where they are no error.

    Raises:
        DataError: Where they are one.
    """
    for found in sets:
        for corpus in found.corpora:
            names, where = corpus.columns["label"], partial(place, corpus)
            yield from unseen_labels(found.name, names, labels, where, on_unseen)


def take_word_vectors(path: Path, table: Any, side: ClassificationPreprocessor) -> str:
    """Puts word vectors into the table of pieces; what a file does not know keeps the vector it has.

    All are scaled alike, so that they are as long in the mean as the vectors that they replace.

    Args:
        path: See `read_word_vectors`.
        table: A `TokenEmbedding`.
        side: Says which pieces there are.

    Returns:
        How many pieces have a vector, as a line.

    Raises:
        DataError: When the file is malformed, has vectors of another length, or none of any piece.
    """
    spellings = {
        number: _spellings(piece) for number, piece in enumerate(side.tokenizer.tokens) if number > 3
    }
    found = read_word_vectors(path, {word for words in spellings.values() for word in words})
    width = int(table.table.shape[1])
    if found.dimensions != width:
        raise DataError(
            f"{path}: its vectors have {found.dimensions} numbers, and the table of pieces {width}: set "
            f"model.embedding_dim to {found.dimensions}"
        )
    rows = {
        number: found.vectors[word]
        for number, words in spellings.items()
        if (word := next((word for word in words if word in found.vectors), None)) is not None
    }
    if not rows:
        raise DataError(f"{path}: has a vector for none of {counted(len(spellings), 'piece')}")
    values = np.array(table.table)
    vectors = np.stack(list(rows.values()))
    values[list(rows)] = vectors * (
        table.deviation * width**-0.5 / max(float(np.sqrt(np.mean(vectors**2))), 1e-12)
    )
    table.table.assign(values)
    return (
        f"{path}: {counted(found.lines, 'vector')} of {width} numbers; {len(rows):,} of {len(spellings):,} "
        f"pieces ({len(rows) / len(spellings):.1%}) begin with one"
    )


def _spellings(piece: str) -> tuple[str, ...]:
    """The words that a piece may be in a file of vectors, the likeliest first."""
    word = piece
    for beginning in _BEGINNINGS:
        word = word.removeprefix(beginning) or word
    return (word,) if word == word.lower() else (word, word.lower())
