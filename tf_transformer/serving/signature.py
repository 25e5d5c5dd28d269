"""One signature of a served model: what it takes, what may run together, and running it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.serving.fault import Code, Fault, invalid

Arrays = Mapping[str, np.ndarray[Any, Any]]
"""Arrays by name; strings are objects of type bytes, as NumPy's own would lose zeros at their ends."""

_MOST_LETTERS = 300
_CODES = {
    tf.errors.InvalidArgumentError: Code.INVALID_ARGUMENT,
    tf.errors.OutOfRangeError: Code.INVALID_ARGUMENT,
    tf.errors.ResourceExhaustedError: Code.RESOURCE_EXHAUSTED,
    tf.errors.UnimplementedError: Code.UNIMPLEMENTED,
}


@dataclass(frozen=True)
class Spec:
    """What an argument is.

    Args:
        dtype: Its type.
        shape: Its sizes, None for any; None when even their number is open.
    """

    dtype: Any
    shape: tuple[int | None, ...] | None

    @property
    def array_type(self) -> Any:
        """NumPy's type for it."""
        return object if self.dtype == tf.string else self.dtype.as_numpy_dtype

    @property
    def has_rows(self) -> bool:
        """Whether its first size is open, as that of a batch."""
        return bool(self.shape) and self.shape is not None and self.shape[0] is None

    def fault(self, name: str, array: np.ndarray[Any, Any]) -> str | None:
        """Why an array cannot be this argument."""
        if self.shape is None:
            return None
        fits = len(self.shape) == array.ndim and all(
            size in (None, given) for size, given in zip(self.shape, array.shape, strict=True)
        )
        return (
            None
            if fits
            else f"input {name} must have shape {shown(self.shape)}. Received: {shown(array.shape)}"
        )


class ServedSignature:
    """A signature of a loaded model.

    Args:
        name: Its name.
        function: The loaded function.

    Attributes:
        inputs: Its arguments by name.
        joins: Whether requests may run together: all results have a row for each row of the arguments, and
            their other sizes are known, so that none depends on its neighbours.
    """

    def __init__(self, name: str, function: Any) -> None:
        self.name = name
        self.function = function
        self.inputs = {
            name: _spec(spec) for name, spec in sorted(function.structured_input_signature[1].items())
        }
        outputs = [_spec(spec) for spec in function.structured_outputs.values()]
        self.outputs = tuple(sorted(function.structured_outputs))
        self.rowed = frozenset(name for name, spec in self.inputs.items() if spec.has_rows)
        self.joins = bool(self.rowed) and all(
            spec.has_rows and None not in (spec.shape or ())[1:] for spec in outputs
        )

    def check(self, inputs: Arrays) -> int:
        """The number of rows of arguments.

        Raises:
            Fault: When they are not this signature's.
        """
        if inputs.keys() != self.inputs.keys():
            raise invalid(
                f"inputs of signature {self.name} must be {', '.join(self.inputs)}. "
                f"Received: {', '.join(sorted(inputs)) or 'none'}"
            )
        for name, spec in self.inputs.items():
            if fault := spec.fault(name, inputs[name]):
                raise invalid(fault)
        sizes = {name: inputs[name].shape[0] for name in sorted(self.rowed)}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{size} of {name}" for name, size in sizes.items())
            raise invalid(f"inputs must have equally many rows. Received: {counts}")
        return next(iter(sizes.values()), 1)

    def kind(self, inputs: Arrays) -> tuple[Any, ...]:
        """What requests that run together have in common: sizes of a row, and all arguments without rows."""
        shapes = tuple(inputs[name].shape[1:] for name in sorted(self.rowed))
        rest = sorted(self.inputs.keys() - self.rowed)
        return (shapes, *((inputs[name].shape, tuple(inputs[name].ravel().tolist())) for name in rest))

    def part(self, inputs: Arrays, start: int, stop: int) -> Arrays:
        """Some rows of arguments."""
        return {name: array[start:stop] if name in self.rowed else array for name, array in inputs.items()}

    def joined(self, several: list[Arrays]) -> Arrays:
        """Arguments of one kind, one below the other."""
        first, *others = several
        if not others:
            return first
        return {
            name: np.concatenate([inputs[name] for inputs in several]) if name in self.rowed else first[name]
            for name in self.inputs
        }

    def run(self, inputs: Arrays) -> dict[str, np.ndarray[Any, Any]]:
        """Calls it.

        Raises:
            Fault: When TensorFlow cannot.
        """
        try:
            tensors = {name: tf.constant(inputs[name], spec.dtype) for name, spec in self.inputs.items()}
            return {name: tensor.numpy() for name, tensor in self.function(**tensors).items()}
        except tf.errors.OpError as error:
            code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), Code.INTERNAL)
            raise Fault(code, reason(error)) from None


def shown(shape: tuple[int | None, ...]) -> str:
    """A shape for a person, ``?`` for an open size."""
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def reason(error: BaseException) -> str:
    """What an error says: its first line, and not by the page."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    # Behind the message TensorFlow names nodes of the graph, which help nobody who has sent a request.
    words = " ".join(lines[0].split("\t [[")[0].split())
    return words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]} …"


def _spec(spec: Any) -> Spec:
    return Spec(spec.dtype, None if spec.shape.rank is None else tuple(spec.shape.as_list()))
