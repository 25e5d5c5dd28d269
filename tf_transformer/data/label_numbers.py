"""Labels of examples to numbers; a label that training has never seen is never taken for another one."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tf_transformer.errors import DataError, counted
from tf_transformer.presets import UNSEEN_LABEL

OnUnseen = Literal["error", "wrong"]
_SHOWN = 12
"""Known labels that an error lists."""
_OR_WRONG = "Correct it, or set `evaluation.unseen_labels` to 'wrong' to count each as an error"


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
    if on_unseen == "error":
        _refuse(numbers, labels, known, where, "one that training has seen", _OR_WRONG)
    return numbers


def refuse_new_labels(labels: Sequence[str], known: Sequence[str], where: Callable[[int], str]) -> None:
    """Refuses training examples whose labels a run that goes on has not; a new run has all of them.

    Args:
        labels: The labels of the examples.
        known: Those that the run began with.
        where: As for `label_numbers`.

    Raises:
        DataError: Then; the losses of such examples would not count, and nobody would know.
    """
    numbers = label_numbers(labels, known, where, "wrong")
    _refuse(numbers, labels, known, where, "one that the run began with", "Correct it, or begin anew")


def _refuse(
    numbers: np.ndarray[Any, np.dtype[np.int32]],
    labels: Sequence[str],
    known: Sequence[str],
    where: Callable[[int], str],
    rule: str,
    remedy: str,
) -> None:
    """Raises an error about the first label that is not known, if there is one."""
    unseen = np.flatnonzero(numbers == UNSEEN_LABEL)
    if not len(unseen):
        return
    first = int(unseen[0])
    others = f" (and {counted(len(unseen) - 1, 'further example')})" if len(unseen) > 1 else ""
    listed = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
    raise DataError(
        f"{where(first)}: the label must be {rule}: {listed}. Received: {labels[first]!r}{others}. {remedy}"
    )
