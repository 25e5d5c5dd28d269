"""Arguments for a first call of a signature, before anybody waits for its answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

ROWS = 2
TEXT = b"1 2 3"
WARM_UP = Path("assets.extra") / "tf_serving_warmup_requests"
"""The file of an export that has such calls, for a server to play."""
_NEUTRAL = {"temperature": 1, "top_p": 1}


def example_inputs(
    specs: Mapping[str, Any], known: Mapping[str, Sequence[Any]], text: bytes = TEXT
) -> dict[str, np.ndarray[Any, Any]] | None:
    """Arrays for all arguments of a signature, or None where nobody can say what one means.

    Args:
        specs: What each argument is: something with a ``dtype`` and a ``shape``, None for any size; a shape
            of None where even the number of sizes is open.
        known: Rows for some of them, by name.
        text: What a text is where none is known.
    """
    found = {
        name: _rows(spec, known[name]) if name in known else _made_up(name, spec, text)
        for name, spec in specs.items()
    }
    arrays = {name: array for name, array in found.items() if array is not None}
    return arrays if len(arrays) == len(found) else None


def _rows(spec: Any, values: Sequence[Any]) -> np.ndarray[Any, Any]:
    if spec.dtype != tf.string:
        return np.array(values, spec.dtype.as_numpy_dtype)
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    return np.array(encoded, object)


def _made_up(name: str, spec: Any, text: bytes) -> np.ndarray[Any, Any] | None:
    if spec.shape is None:
        return None
    shape = [size or ROWS for size in spec.shape]
    if spec.dtype == tf.string:
        return np.full(shape, text, object)
    if spec.dtype.is_floating or spec.dtype.is_integer:
        return np.full(shape, _NEUTRAL.get(name, 1), spec.dtype.as_numpy_dtype)
    return None
