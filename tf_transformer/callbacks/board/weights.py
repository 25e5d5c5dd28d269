"""How far an update moves the weights, part by part, and how weights and changes are distributed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

SAMPLED = 10_000
"""Numbers of a part that a histogram is made of, at most, however large the part is."""
TINY = 1e-12


class WeightChanges:
    """Compares the weights before and after one update.

    What a variable held stays readable while the update makes a new value, so nothing is copied; the work is
    done for the few updates that are looked at, outside of the training step.

    Args:
        variables: The trainable variables.
        parts: Which of them belong to which part of the model, by place.

    Attributes:
        length: That of all weights as one vector, before the update that was last compared; at first as they
            are now.
    """

    def __init__(self, variables: Sequence[Any], parts: Mapping[str, Sequence[int]]) -> None:
        self.variables = variables
        self.parts = parts
        self._before: list[tf.Tensor] | None = None
        weights = [tf.convert_to_tensor(variable) for variable in variables]
        self.length = float(tf.linalg.global_norm(weights)) if weights else 0.0

    def watch(self) -> None:
        """Takes note of the weights; to be called before an update."""
        self._before = [tf.convert_to_tensor(variable) for variable in self.variables]

    def ratios(self) -> dict[str, float]:
        """The length of the change over that of the weights, after the update that was watched.

        Returns:
            Of all weights, by the empty name, and of each part; nothing where no update was watched.
        """
        if not self._before:
            return {}
        pairs = list(zip(self.variables, self._before, strict=True))
        # One transfer for all: each of them would wait for the device.
        moved = tf.stack([tf.nn.l2_loss(tf.convert_to_tensor(new) - old) for new, old in pairs])
        held = tf.stack([tf.nn.l2_loss(old) for _, old in pairs])
        squares = np.asarray(tf.stack([moved, held]), np.float64)
        self.length = float(np.sqrt(2 * squares[1].sum()))
        found = {"": _ratio(*squares.sum(axis=1))}
        return found | {name: _ratio(*squares[:, places].sum(axis=1)) for name, places in self._places()}

    def forget(self) -> None:
        """Lets go of the weights before the update, which take as much memory as those after it."""
        self._before = None

    def samples(self) -> dict[str, np.ndarray[Any, Any]]:
        """Some weights of each part and, after an update that was watched, their changes in it, by tag."""
        found = {}
        for name, places in self._places():
            weights = _sampled([self.variables[place] for place in places])
            found[f"weights/{name}"] = weights
            if self._before is not None:
                found[f"weights_changes/{name}"] = weights - _sampled(
                    [self._before[place] for place in places]
                )
        return found

    def _places(self) -> list[tuple[str, list[int]]]:
        return [(name, list(places)) for name, places in self.parts.items()]


def _ratio(moved: float, held: float) -> float:
    return float(np.sqrt(moved / max(held, TINY)))


def _sampled(tensors: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Numbers evenly from all over some tensors, chosen on their device."""
    stride = max(1, -(-sum(int(np.prod(one.shape)) for one in tensors) // SAMPLED))
    flat = [tf.reshape(tf.convert_to_tensor(one), [-1])[::stride] for one in tensors]
    return np.asarray(tf.concat(flat, axis=0), np.float64)
