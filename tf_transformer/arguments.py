"""Checks of arguments that the whole library shares: numbers, and texts."""

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from numbers import Integral, Real
from typing import Any

_SHOWN = 60


def whole_number(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number within bounds, as a plain integer.

    Raises:
        TypeError: If it is no whole number; a truth value is none either.
        ValueError: If it is out of bounds.
    """
    bounds = "" if least is None else f"at least {least}" if most is None else f"from {least} to {most}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        rule = f"`{name}` must be a whole number" + (f", {bounds}" if bounds else "")
        raise TypeError(f"{rule}. Received: {repr(value)[:_SHOWN]}")
    number = int(value)
    if (least is not None and number < least) or (most is not None and number > most):
        raise ValueError(f"`{name}` must be {bounds}. Received: {number}")
    return number


def finite_number(name: str, value: Any, least: float) -> float:
    """A finite number that is not too small, as a plain float.

    Raises:
        TypeError: If it is no number; a truth value is none either.
        ValueError: If it is too small, infinite, or not a number.
    """
    rule = f"`{name}` must be a finite number, at least {least:g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{rule}. Received: {repr(value)[:_SHOWN]}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not least <= number < math.inf:
        raise ValueError(f"{rule}. Received: {repr(value)[:_SHOWN]}")
    return number


def each_string(name: str, texts: Any) -> Iterator[str]:
    """The texts one by one, each checked when its turn comes.

    One string in place of a list would pass for a list of its characters, so it is refused.

    Args:
        name: What the argument is called.
        texts: A list or another iterable of strings that has an order.

    Raises:
        TypeError: At once, when it is one string or no iterable; or later, at an item that is no string.
    """
    rule = f"`{name}` must be a list of strings"
    if isinstance(texts, str | bytes):
        raise TypeError(f"{rule}. Received: one string, {repr(texts)[:_SHOWN]}")
    if isinstance(texts, Mapping | Set) or not isinstance(texts, Iterable):
        raise TypeError(f"{rule}. Received: {type(texts).__name__}")
    return _checked(rule, texts)


def _checked(rule: str, texts: Iterable[Any]) -> Iterator[str]:
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{rule}. Received: {type(text).__name__} at place {place}")
        yield text


def list_of_strings(name: str, texts: Any) -> list[str]:
    """The texts as a list; arguments and errors as of `each_string`."""
    return list(each_string(name, texts))
