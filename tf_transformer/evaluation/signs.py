"""Signs that a batch or a model is not what it should be: each is certain, and names its cause.

Shapes: B rows, T target positions, V tokens.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.presets import END_ID, PAD_ID

IntArray = np.ndarray[Any, np.dtype[np.int64]]
ROWS = 4
"""Rows of a batch that a model is tried with."""
LEAK = 1e-3
"""Share of what pieces change where they stand that they may change before that: rounding does."""
SAME = 0.9
"""Share of labels that must be the inputs of a neighbouring place for that to be called the rule."""
_PLACES = {
    0: "the inputs at their own place: there is no shift, and copying is enough",
    -1: "the inputs before theirs: the shift goes the wrong way",
    2: "the inputs two places on: the shift is made twice",
}
_FIRST_PIECE = END_ID + 1


@dataclass(frozen=True)
class Sign:
    """Something that is wrong.

    Args:
        name: A short name of the fault, such as ``shift``.
        line: What was seen and what it comes from, on one line.
    """

    name: str
    line: str


def batch_signs(model: Any, inputs: Mapping[str, Any], labels: Any) -> Iterator[Sign]:
    """What is wrong with a batch as such.

    Args:
        model: Has ``counts`` and ``COUNTS``.
        inputs: Of the batch; where ``target_ids`` is among them, labels must be the pieces after them.
        labels: int ``[B, T]``, 0 where a position does not count; or ``[B]`` of classes.
    """
    counted = int(model.counts(inputs, labels)[model.COUNTS[0]])
    if counted == 0:
        yield Sign(
            "labels",
            "no label counts: all of them are padding, so the loss is 0 and nothing can be learnt from it",
        )
    elif (sign := _shift_sign(inputs, labels)) is not None:
        yield sign


def _shift_sign(inputs: Mapping[str, Any], labels: Any) -> Sign | None:
    """Compares labels with the inputs around them; None where there is nothing to compare."""
    pair = _pieces(inputs, labels)
    if pair is None:
        return None
    ids, wanted = pair
    right = _agreement(ids, wanted, 1)
    if right is None or right == 1.0:
        return None
    found = {place: _agreement(ids, wanted, place) or 0.0 for place in _PLACES}
    place = max(found, key=lambda each: found[each])
    what = "others than the pieces that the inputs go on with"
    if found[place] > max(SAME, right):
        what = _PLACES[place]
    return Sign(
        "shift",
        f"the labels are not shifted by one place: {1 - right:.0%} of them are not the next input. They are "
        f"{what}",
    )


def _pieces(inputs: Mapping[str, Any], labels: Any) -> tuple[IntArray, IntArray] | None:
    """Inputs and labels `[B, T]` of a model that predicts the next piece."""
    wanted = np.asarray(labels)
    if not isinstance(inputs, Mapping) or "target_ids" not in inputs or wanted.ndim != 2:
        return None
    ids = np.asarray(inputs["target_ids"])
    return None if ids.shape != wanted.shape else (ids, wanted)


def _agreement(ids: IntArray, labels: IntArray, place: int) -> float | None:
    """The share of labels that are the inputs so many places on; None where none can be compared."""
    length = ids.shape[1]
    first, last = max(0, -place), min(length, length - place)
    theirs, own = ids[:, first + place : last + place], labels[:, first:last]
    both = (theirs != PAD_ID) & (own != PAD_ID)
    return float(np.mean(theirs[both] == own[both])) if both.any() else None


def mask_sign(model: Any, inputs: Mapping[str, Any], labels: Any) -> Sign | None:
    """Whether a model sees the pieces that it is to predict: other later ones must change nothing before.

    Args:
        model: Maps inputs to logits ``[B, T, V]``; of fresh weights or trained.
        inputs: Of a batch.
        labels: Of the batch.

    Returns:
        The sign, or None: also where the model predicts no pieces, or all rows are too short to tell.
    """
    pair = _pieces(inputs, labels)
    if pair is None:
        return None
    ids = pair[0]
    sizes = (ids != PAD_ID).sum(axis=1)
    rows = np.flatnonzero(sizes >= 2)[:ROWS]
    if not len(rows):
        return None
    own = {name: tf.gather(value, rows) for name, value in inputs.items()}
    cut = max(1, int(sizes[rows].min()) // 2)
    logits = np.asarray(model(own, training=False), np.float64)
    later = (np.arange(ids.shape[1]) >= cut) & (ids[rows] != PAD_ID)
    changed = np.where(later, _other(ids[rows], logits.shape[-1]), ids[rows]).astype(np.int32)
    moved = np.abs(np.asarray(model({**own, "target_ids": changed}, training=False)) - logits).max(axis=-1)
    before, behind = float(moved[:, :cut].max()), float(moved[later].max())
    if before <= LEAK * behind:
        return None
    return Sign(
        "mask",
        f"what is predicted at place {cut} and before changes with the pieces after it: the model sees what "
        "it is to predict. The causal mask of the target is missing",
    )


def _other(ids: IntArray, size: int) -> IntArray:
    """Another piece for each, none of the special ones."""
    room = max(size - _FIRST_PIECE, 1)
    return _FIRST_PIECE + (np.maximum(ids - _FIRST_PIECE, 0) + 1) % room
