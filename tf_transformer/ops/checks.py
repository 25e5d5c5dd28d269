"""Checks of ids, shapes and weights: of values outside of a graph alone, of shapes where they are known."""

from typing import Any

import numpy as np
from keras import ops

from tf_transformer.ops import Tensor


def check_ids(name: str, ids: Tensor, size: int | None, ignore_id: int | None = None) -> None:
    """Refuses ids that are in no vocabulary, where their values are at hand.

    Looked up, a negative id would count from the table's end, and one too large would fail, give zeros or
    give NaN, depending on backend and device. In a graph nothing is known yet, and nothing is checked.

    Args:
        name: What the argument is called.
        ids: Tensor of any shape; of integers, also where they were cast to float.
        size: The size of the vocabulary; None where it is not known.
        ignore_id: An id that means "no token" and may lie outside.

    Raises:
        ValueError: If an id is no whole number, negative or too large.
    """
    values = _values_at_hand(ids)
    if values is None or size is None:
        return
    wrong = (values < 0) | (values >= size) | (values != np.floor(values))
    if ignore_id is not None:
        wrong &= values != ignore_id
    if wrong.any():
        raise ValueError(
            f"`{name}` must be whole numbers, at least 0 and below the size of the vocabulary, {size}. "
            f"Received: {values[wrong][0]}"
        )


def _values_at_hand(tensor: Tensor) -> np.ndarray[Any, Any] | None:
    try:
        return np.asarray(ops.convert_to_numpy(tensor))
    except (NotImplementedError, TypeError, ValueError):  # what the backends say of a tensor without values
        return None


def check_same_sizes(names: str, first: Any, second: Any) -> None:
    """Refuses two shapes that are known to differ: an axis of 1 would be repeated without a word.

    Args:
        names: What has these shapes.
        first: A shape; sizes may be None, which means unknown.
        second: Another one.

    Raises:
        ValueError: If sizes, or the numbers of axes, differ.
    """
    try:
        sizes = tuple(first), tuple(second)
    except ValueError:  # in TensorFlow even the number of axes may be unknown
        return
    pairs = zip(*sizes, strict=False)
    if len(sizes[0]) != len(sizes[1]) or any(a != b for a, b in pairs if None not in (a, b)):
        raise ValueError(f"{names} must have the same sizes. Received: {sizes[0]} and {sizes[1]}")


def token_weights(sample_weight: Tensor, labels: Tensor) -> Tensor:
    """Weights of tokens from weights of tokens or of sentences: a sentence's weight is that of its tokens.

    Args:
        sample_weight: One weight a token `[B, T]` or a sentence `[B]` or `[B, 1]`, or one for all `[]`.
        labels: The labels `[B, T]`.

    Returns:
        Float32 `[B, T]`, or `[B, 1]`, or `[]`.

    Raises:
        ValueError: If the shape is none of these. Broadcast as it is, `[B]` would weigh positions.
    """
    weights = ops.cast(sample_weight, "float32")
    shape, wanted = tuple(weights.shape), tuple(labels.shape)
    fits = len(shape) <= len(wanted) and all(
        size == of_labels or None in (size, of_labels) or (size == 1 and axis > 0)
        for axis, (size, of_labels) in enumerate(zip(shape, wanted, strict=False))
    )
    if not fits:
        raise ValueError(
            "`sample_weight` must be one weight a token or one a sentence: the shape of the labels, "
            f"{wanted}, or its beginning. Received: shape {shape}"
        )
    return ops.reshape(weights, ops.shape(weights) + (1,) * (len(wanted) - len(shape))) if shape else weights
