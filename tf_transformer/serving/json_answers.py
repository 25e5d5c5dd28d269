"""Arrays as JSON, in the two formats of TensorFlow Serving."""

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from tf_transformer.serving.batching import Answer
from tf_transformer.serving.fault import invalid

_BYTES = "_bytes"


def in_rows(answer: Answer) -> bytes:
    """``{"predictions": [an item a row]}``: an object of all results, or the value where there is one.

    Raises:
        Fault: When not all results have equally many rows.
    """
    sizes = {array.shape[:1] for array in answer.values()}
    if len(sizes) != 1 or sizes == {()}:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in sorted(answer.items()))
        raise invalid(f"results have not equally many rows; ask for them by 'inputs'. They are {shapes}")
    columns = {name: plain(name, array) for name, array in sorted(answer.items())}
    if len(columns) == 1:
        return written({"predictions": next(iter(columns.values()))})
    rows = zip(*columns.values(), strict=True)
    return written({"predictions": [dict(zip(columns, row, strict=True)) for row in rows]})


def in_columns(answer: Answer) -> bytes:
    """``{"outputs": …}``: an object of all results, or the value where there is one."""
    columns = {name: plain(name, array) for name, array in sorted(answer.items())}
    return written({"outputs": columns if len(columns) > 1 else next(iter(columns.values()), {})})


def plain(name: str, array: np.ndarray[Any, Any]) -> Any:
    """An array as nested lists of what JSON has.

    Strings are text, or ``{"b64": …}`` where the name of the result ends in ``_bytes``. A decimal number has
    as many digits as tell it from its neighbours of its own type.
    """
    convert: Callable[[Any], Any]
    if array.dtype == object:
        convert = _encoded if name.endswith(_BYTES) else _text
    elif array.dtype.kind in "fV":  # V: bfloat16, which NumPy does not know
        array = array.astype(np.float32) if array.dtype.itemsize < 4 else array
        convert = _number
    else:
        return array.tolist()
    found = np.empty(array.size, object)
    found[:] = [convert(value) for value in array.ravel()]
    return found.reshape(array.shape).tolist()


def _number(value: Any) -> float:
    return float(str(value))


def _text(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")


def _encoded(value: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(value).decode("ascii")}


def written(content: Any) -> bytes:
    """A value as JSON in UTF-8; half a pair of surrogates, which only JSON can hold, becomes a ``?``."""
    return json.dumps(content, ensure_ascii=False).encode("utf-8", errors="replace")
