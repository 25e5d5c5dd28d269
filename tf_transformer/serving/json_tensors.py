"""JSON values as arrays, by the rules of TensorFlow Serving: no value is silently made into another."""

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.serving.fault import invalid
from tf_transformer.serving.signature import Arrays, Spec

_SHOWN = 60
_DEEPEST = 32
_BASE64 = "b64"


def parse(body: bytes) -> dict[str, Any]:
    """The object that a body is.

    Raises:
        Fault: When it is none.
    """
    try:
        found = json.loads(body)
    except RecursionError:
        raise invalid("JSON Parse error: nested too deeply") from None
    except ValueError as error:  # also what is no UTF-8
        raise invalid(f"JSON Parse error: {error}"[:200]) from None
    if not isinstance(found, dict):
        raise invalid(f"the body must be a JSON object. Received: {brief(found)}")
    return found


def brief(value: Any) -> str:
    """A JSON value for a message, cut."""
    if isinstance(value, list | dict) and len(value) > _SHOWN:
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    try:
        shown = json.dumps(value)
    except RecursionError:
        return "a value that is nested too deeply"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} …"


def is_bytes(value: Any) -> bool:
    """Whether a value is the form that bytes have in JSON."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get(_BASE64), str)


def from_rows(instances: Any, specs: Mapping[str, Spec]) -> Arrays:
    """The arguments of a request in row format.

    Args:
        instances: A list: of objects with a key for each argument, or of values where there is one argument.
        specs: The arguments.

    Raises:
        Fault: When it does not fit.
    """
    if not isinstance(instances, list):
        raise invalid(f"'instances' must be a list. Received: {brief(instances)}")
    if not instances:
        raise invalid("'instances' must hold at least one value. Received: an empty list")
    if not all(_is_object(instance) for instance in instances):
        return _from_values(instances, specs)
    for place, instance in enumerate(instances):
        if instance.keys() != specs.keys():
            raise invalid(
                f"'instances', item {place}: keys must be {', '.join(specs)}. "
                f"Received: {brief(sorted(instance))}"
            )
    return {name: array_of([row[name] for row in instances], spec, name) for name, spec in specs.items()}


def from_columns(inputs: Any, specs: Mapping[str, Spec]) -> Arrays:
    """The arguments of a request in column format.

    Args:
        inputs: An object with a key for each argument, or a value where there is one argument.
        specs: The arguments.

    Raises:
        Fault: When it does not fit.
    """
    if not _is_object(inputs):
        if len(specs) > 1:
            raise invalid(f"'inputs' must be an object of {', '.join(specs)}. Received: {brief(inputs)}")
        return {name: array_of(inputs, spec, name) for name, spec in specs.items()}
    if missing := specs.keys() - inputs.keys():  # one too many is no fault, as in TensorFlow Serving
        raise invalid(f"'inputs' must have {', '.join(sorted(missing))}. Received: {brief(sorted(inputs))}")
    return {name: array_of(inputs[name], spec, name) for name, spec in specs.items()}


def array_of(value: Any, spec: Spec, name: str) -> np.ndarray[Any, Any]:
    """A nested list, or a single value, as an array.

    Args:
        value: Plain values, bytes as ``{"b64": …}``.
        spec: What it is for.
        name: Of the argument.

    Raises:
        Fault: When lists of one depth are not equally long, or a value is of another type.
    """
    shape: list[int] = []
    flat = [value]
    while flat and any(isinstance(item, list) for item in flat):
        sizes = {len(item) if isinstance(item, list) else None for item in flat}
        if None in sizes or len(sizes) > 1 or len(shape) == _DEEPEST:
            raise invalid(f"input {name}: lists at one depth must be equally long. Received: {brief(value)}")
        shape.append(sizes.pop() or 0)
        flat = [each for item in flat for each in item]
    convert = _converter(spec.dtype)
    array = np.empty(len(flat), spec.array_type)
    for place, item in enumerate(flat):
        array[place] = convert(item, name)
    return array.reshape(shape)


def _from_values(instances: list[Any], specs: Mapping[str, Spec]) -> Arrays:
    if len(specs) > 1:
        raise invalid(f"'instances' must be objects of {', '.join(specs)}. Received: {brief(instances)}")
    if any(_is_object(instance) for instance in instances):
        raise invalid(f"'instances' must be all objects, or all values. Received: {brief(instances)}")
    return {name: array_of(instances, spec, name) for name, spec in specs.items()}


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and not is_bytes(value)


def _converter(dtype: Any) -> Callable[[Any, str], Any]:
    if dtype == tf.string:
        return _bytes
    if dtype == tf.bool:
        return _truth
    if dtype.is_integer:
        least, most = dtype.min, dtype.max
        return lambda value, name: _whole(value, name, least, most, dtype.name)
    if dtype.is_floating:
        exact = 2 ** (np.finfo(dtype.as_numpy_dtype).nmant + 1)
        return lambda value, name: _decimal(value, name, exact, float(dtype.max), dtype.name)
    raise invalid(f"values of type {dtype.name} cannot be given in JSON")


def _bytes(value: Any, name: str) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:  # half of a pair of surrogates, which no file can hold
            raise invalid(f"input {name}: no valid Unicode. Received: {brief(value)}") from None
    if not is_bytes(value):
        raise _mismatch(value, name, "string")
    try:
        return base64.b64decode(value[_BASE64], validate=True)
    except (binascii.Error, ValueError):
        raise invalid(f"input {name}: no valid base64. Received: {brief(value)}") from None


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise _mismatch(value, name, "bool")
    return value


def _whole(value: Any, name: str, least: int, most: int, kind: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _mismatch(value, name, kind)
    if not least <= value <= most:
        raise invalid(f"input {name}: {kind} must be from {least} to {most}. Received: {brief(value)}")
    return value


def _decimal(value: Any, name: str, exact: int, most: float, kind: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _mismatch(value, name, kind)
    lossy = abs(value) > exact if isinstance(value, int) else math.isfinite(value) and abs(value) > most
    if lossy:
        raise invalid(f"input {name}: {kind} cannot hold this number. Received: {brief(value)}")
    return float(value)


def _mismatch(value: Any, name: str, kind: str) -> Exception:
    return invalid(f"input {name} must be of type {kind}. Received: {brief(value)}")
