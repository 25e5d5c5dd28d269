"""How small the loss of a batch can become: what label smoothing, and labels that contradict, leave of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LossFloor:
    """What a batch's mean loss is made of, in nats.

    Args:
        labels: How many labels count.
        lowest: The least mean loss that any model can have: it is as sure as smoothing wants it of each
            label, but where equal inputs have different ones.
        frequencies: That of the best model that does not look at its inputs, and knows how frequent each
            label is.
        uniform: That of a model which finds everything equally likely.
    """

    labels: int
    lowest: float
    frequencies: float
    uniform: float


def loss_floor(
    inputs: Mapping[str, Any],
    labels: Any,
    num_outputs: int,
    label_smoothing: float = 0.0,
    ignore_id: int | None = 0,
) -> LossFloor:
    """The bounds of `smoothed_cross_entropy` on a batch.

    The cross-entropy of a distribution q is least, its entropy, where the model says just q. Smoothing makes
    q of a label y: `(1 - label_smoothing)` on y, and `label_smoothing / C` on each of C classes. Labels of
    equal inputs have one q together, their mean. All is exact; that a model could tell equal inputs apart, or
    could not tell different ones apart, is not thought of.

    Args:
        inputs: Of the batch, arrays `[B, ...]`. Of `target_ids` `[B, T]` a label at t has seen those up to t.
        labels: int `[B]` or `[B, T]`.
        num_outputs: The number V of logits.
        label_smoothing: Share that is spread over the classes.
        ignore_id: A label that does not count, and is no class where it is an output.

    Raises:
        ValueError: When no label counts.
    """
    classes = num_outputs - (ignore_id is not None and 0 <= ignore_id < num_outputs)
    groups: dict[bytes, Counter[int]] = {}
    for context, label in _examples(inputs, np.asarray(labels)):
        if label != ignore_id:
            groups.setdefault(context, Counter())[label] += 1
    if not groups:
        raise ValueError("`labels` must have one at least that counts. Received: none")
    together: Counter[int] = Counter()
    for group in groups.values():
        together.update(group)
    count = together.total()
    lowest = sum(group.total() * _entropy(group, classes, label_smoothing) for group in groups.values())
    return LossFloor(
        count, lowest / count, _entropy(together, classes, label_smoothing), log(max(num_outputs, 1))
    )


def _examples(inputs: Mapping[str, Any], labels: np.ndarray[Any, Any]) -> Iterator[tuple[bytes, int]]:
    """Each label with all that a model has seen when it answers it."""
    arrays = {name: np.asarray(value) for name, value in sorted(inputs.items())}
    if labels.ndim == 1:
        for row, label in enumerate(labels.tolist()):
            yield _bytes(value[row] for value in arrays.values()), label
        return
    targets = arrays.pop("target_ids")
    for row, wanted in enumerate(labels.tolist()):
        source = _bytes(value[row] for value in arrays.values())
        for place, label in enumerate(wanted):
            yield source + targets[row, : place + 1].tobytes(), label


def _bytes(values: Iterable[np.ndarray[Any, Any]]) -> bytes:
    return b"".join(np.ascontiguousarray(value).tobytes() for value in values)


def _entropy(counts: Counter[int], classes: int, label_smoothing: float) -> float:
    """The entropy of the mean smoothed distribution of labels that occur so often."""
    total, spread = counts.total(), label_smoothing / max(classes, 1)
    shares = [(1 - label_smoothing) * count / total + spread for count in counts.values()]
    others = (classes - len(counts)) * spread
    return -sum(share * log(share) for share in shares) - (others * log(spread) if others else 0.0)
