"""A run that begins with another vocabulary than the weights it begins with: rows are carried over."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tf_transformer.build.weights import vocabulary_tables
from tf_transformer.checkpoints import Arrays
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.presets import PAD_ID, SPECIAL_TOKENS
from tf_transformer.text import Tokenizer
from tf_transformer.text.vocabulary_change import VocabularyChange, vocabulary_change

Rows = np.ndarray[Any, np.dtype[Any]]

_ANSWERING: Final = ("output_embedding", "target_embedding", "embedding")
"""The layer whose table gives logits: the first of these that a model has."""


class SideTokenizer(NamedTuple):
    """A tokenizer of a side.

    Args:
        tokenizer: The tokenizer.
        special_tokens: The tokens whose ids stand behind its own.
    """

    tokenizer: Tokenizer
    special_tokens: Sequence[str] = ()


def vocabulary_changes(
    old: Mapping[str, SideTokenizer], new: Mapping[str, SideTokenizer]
) -> dict[str, VocabularyChange]:
    """What becomes of the tokens of a side when another one takes its place, by the name of the tokenizer."""
    return {
        name: vocabulary_change(
            found.tokenizer, new[name].tokenizer, found.special_tokens, new[name].special_tokens
        )
        for name, found in old.items()
    }


def update_lines(
    changes: Mapping[str, VocabularyChange], encode: Callable[[Any], EncodedCorpus], old: Any, new: Any
) -> Iterator[str]:
    """What an update of a vocabulary does: pieces that are kept, new and lost, and how long rows get.

    Args:
        changes: What becomes of the tokens.
        encode: A side to the training data as it encodes that.
        old: The side before.
        new: The side after.
    """
    for name, change in changes.items():
        of = "" if len(changes) == 1 else f" of {name}"
        yield f"vocabulary{of}: {change.to_line()}"
    before, after = encode(old), encode(new)
    for number, report in enumerate(after.reports):
        means = (
            f"{column} {_mean(before, column, number):.1f} -> {_mean(after, column, number):.1f}"
            for column in before.lengths
        )
        yield f"pieces a row of {report.name}: {', '.join(means)}"


def _mean(encoded: EncodedCorpus, column: str, corpus: int) -> float:
    lengths = encoded.lengths[column][encoded.corpora == corpus]
    return float(np.mean(lengths)) if len(lengths) else 0.0


def carry_rows(weights: Arrays, changes: Mapping[str, VocabularyChange]) -> dict[str, Rows]:
    """The weights of a model for another vocabulary.

    A row is that of the same token before, bit by bit; the row of a new one begins as the mean of the rows
    of its parts, see `begun_rows`.

    Args:
        weights: By path.
        changes: What becomes of the tokens, by the name of the tokenizer: ``source`` and ``target``, or one.

    Returns:
        All weights by path; those that have nothing to do with a vocabulary are the same arrays.
    """
    if all(change.is_none for change in changes.values()):
        return dict(weights)
    tables = dict(vocabulary_tables(weights))
    answering = next((layer for layer in _ANSWERING if layer in tables.values()), None)
    carried = dict(weights)
    for path, layer in tables.items():
        name = "source" if layer.startswith("source") else "target"
        change = changes[name] if name in changes else next(iter(changes.values()))
        carried[path] = begun_rows(weights[path], change, layer == answering)
    return carried


def begun_rows(table: Rows, change: VocabularyChange, is_answering: bool) -> Rows:
    """A table for another vocabulary.

    The mean of the parts is near to each of them: where a model expects a part, the new piece would be likely
    too, and as likely where all parts are one, as in an ellipsis. A table that gives logits shows what is
    never answered: padding, whose row training has only ever pushed away from all states. New rows are moved
    that way until no old one is further out.

    Args:
        table: `[V, D]`.
        change: What becomes of its tokens.
        is_answering: Whether it gives logits.

    Returns:
        `[W, D]`, with the dtype of the table.
    """
    rows = table[[origin[0] for origin in change.origins]]
    new = list(change.new)
    for index in new:
        rows[index] = table[list(change.origins[index])].mean(axis=0)
    away = table[PAD_ID]
    length = float(np.linalg.norm(away))
    if is_answering and new and length > 0:
        furthest = (table[len(SPECIAL_TOKENS) :] @ away).max()
        missing = np.maximum(0.0, furthest - rows[new] @ away)
        rows[new] += missing[:, None] * away / length**2
    return rows
