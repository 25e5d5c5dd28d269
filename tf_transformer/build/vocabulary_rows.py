"""The rows of vocabulary tables, carried over to another vocabulary."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tf_transformer.build.weights import vocabulary_tables
from tf_transformer.checkpoints import Arrays
from tf_transformer.presets import PAD_ID, SPECIAL_TOKENS
from tf_transformer.text.vocabulary_change import VocabularyChange

Rows = np.ndarray[Any, np.dtype[Any]]


def carry_rows(
    weights: Arrays, change_of: Callable[[str], VocabularyChange], answering: str | None
) -> dict[str, Rows]:
    """The weights of a model for another vocabulary.

    A row is that of the same piece before, bit by bit; the row of a new piece begins as the mean of the rows
    of its parts, see `begun_rows`.

    Args:
        weights: By path.
        change_of: The name of a layer with a table to what becomes of its tokens.
        answering: The layer whose table gives logits, too; None where there is none.

    Returns:
        All weights by path; those that have nothing to do with a vocabulary are the same arrays.
    """
    carried = dict(weights)
    for path, layer in vocabulary_tables(weights):
        carried[path] = begun_rows(weights[path], change_of(layer), layer == answering)
    return carried


def begun_rows(table: Rows, change: VocabularyChange, is_answering: bool) -> Rows:
    """A table for another vocabulary.

    The mean of the parts is near to each of them: where the model expects the part, the new piece would be
    about as likely, and as likely where all parts are one, as in an ellipsis. A table that gives logits shows
    what is never answered: padding, whose row training has only ever pushed away from all states. New rows
    are moved that way until none of the old ones is further out.

    Args:
        table: `[V, D]`.
        change: What becomes of its tokens.
        is_answering: Whether it gives logits.

    Returns:
        `[W, D]`, with the dtype of the table.
    """
    rows = np.stack(
        [
            table[list(origin)].mean(axis=0) if len(origin) > 1 else table[origin[0]]
            for origin in change.origins
        ]
    )
    length = float(np.linalg.norm(table[PAD_ID]))
    if is_answering and change.new and length > 0:
        away = table[PAD_ID] / length
        furthest = float((table[len(SPECIAL_TOKENS) :] @ away).max())
        new = list(change.new)
        missing = np.maximum(0.0, furthest - rows[new] @ away)
        rows[new] += missing[:, None] * away
    return rows.astype(table.dtype)
