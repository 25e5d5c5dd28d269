"""Labels of examples to numbers; a label that training has never seen is never taken for another one."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tf_transformer.errors import DataError, counted
from tf_transformer.presets import UNSEEN_LABEL

OnUnseen = Literal["error", "wrong"]
_SHOWN = 12
"""Known labels that an error lists."""


def label_numbers(
    labels: Sequence[str], known: Sequence[str], where: Callable[[int], str], on_unseen: OnUnseen = "error"
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The number of each label.

    Args:
        labels: The labels of examples.
        known: The labels of training; their places are their numbers.
        where: Says where the example with a given place among `labels` stands, such as `dev.tsv, line 7`.
        on_unseen: `"error"` refuses a label that is not known; with `"wrong"` its number is `UNSEEN_LABEL`,
            which no answer equals.

    Returns:
        int32 `[rows]`.

    Raises:
        DataError: A label is not known, and `on_unseen` is `"error"`.
    """
    places = {label: number for number, label in enumerate(known)}
    numbers = np.array([places.get(label, UNSEEN_LABEL) for label in labels], np.int32)
    unseen = np.flatnonzero(numbers == UNSEEN_LABEL)
    if len(unseen) and on_unseen == "error":
        first = int(unseen[0])
        others = f" (and {counted(len(unseen) - 1, 'further example')})" if len(unseen) > 1 else ""
        listed = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
        raise DataError(
            f"{where(first)}: the label must be one that training has seen: {listed}. "
            f"Received: {labels[first]!r}{others}. "
            "Correct it, or set `evaluation.unseen_labels` to 'wrong' to count each as an error"
        )
    return numbers
