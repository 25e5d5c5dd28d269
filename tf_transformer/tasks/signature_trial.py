"""Signatures of a SavedModel against the very functions that it was made of, in memory."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.tasks.task import Call, Inputs

TOLERANCE = 1e-3
"""Numbers of another process differ by float32 rounding."""


def call_as_in_memory(served: tf.Module, signature: str, inputs: Inputs, may_differ: float = 0.0) -> Call:
    """A call that must give what the function gives in memory.

    Args:
        served: Has the function.
        signature: Its name.
        inputs: The arguments, a value an example; the first one says what an example is.
        may_differ: The share of examples whose answers may differ: where a piece is chosen, rounding may
            decide between two that are equally good, and all that follows is another answer then.
    """
    function = getattr(served, signature)
    dtypes = {spec.name: spec.dtype for spec in function.input_signature}
    outputs = function(**{name: tf.constant(values, dtypes[name]) for name, values in inputs.items()})
    expected = {name: output.numpy() for name, output in outputs.items()}

    def check(inputs: Inputs, answer: Mapping[str, Any]) -> None:
        examples = next(iter(inputs.values()))
        others = [
            (row, name)
            for row in range(len(examples))
            for name in expected
            if not _equal(expected[name][row], answer[name][row])
        ]
        if len({row for row, _ in others}) > may_differ * len(examples):
            row, name = others[0]
            raise ExportError(
                f"the exported model answers differently, so it was not kept: {name} of {signature} for "
                f"{examples[row]!r} is {_shown(expected[name][row])} in the run and "
                f"{_shown(answer[name][row])} in the export"
            )

    return Call(signature, [inputs], check)


def _equal(expected: Any, found: Any) -> bool:
    """Whether one example's output is the same, text to the letter and numbers but for rounding."""
    plain = _plain(expected)
    if isinstance(plain, str) or np.asarray(plain).dtype.kind == "U":
        return bool(plain == found)
    return bool(
        np.shape(plain) == np.shape(found) and np.allclose(found, plain, rtol=TOLERANCE, atol=TOLERANCE)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode("utf-8") if isinstance(value, bytes) else value


def _shown(value: Any) -> str:
    return " ".join(str(_plain(value)).split())[:80]
