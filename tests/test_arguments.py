"""Checks of numbers and texts: what passes, what is refused, and in which words."""

from typing import Any

import numpy as np
import pytest

from tf_transformer.arguments import each_string, finite_number, list_of_strings, whole_number


def test_numbers_that_pass_are_plain() -> None:
    assert whole_number("n", np.int64(3), 3) == 3 and type(whole_number("n", np.int64(3), 3)) is int
    assert finite_number("x", np.float32(0.5), 0) == 0.5 and type(finite_number("x", 2, 0)) is float


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (2, ValueError, r"^`n` must be from 3 to 7\. Received: 2$"),
        (8, ValueError, r"^`n` must be from 3 to 7\. Received: 8$"),
        (5.0, TypeError, r"^`n` must be a whole number, from 3 to 7\. Received: 5\.0$"),
        (False, TypeError, r"^`n` must be a whole number, .*Received: False$"),
        ("5" * 99, TypeError, r"^`n` must be a whole number, .*Received: '5{59}$"),
    ],
)
def test_no_whole_number(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        whole_number("n", value, 3, 7)
    with pytest.raises(error, match=r"`n` must be (a whole number, )?at least 9\. Received: "):
        whole_number("n", value, 9)


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), 10**400])
def test_no_finite_number(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^`x` must be a finite number, at least 0\. Received: "):
        finite_number("x", value, 0)


@pytest.mark.parametrize("value", [True, "1", None, 1j])
def test_no_number(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^`x` must be a finite number, at least 0\. Received: "):
        finite_number("x", value, 0)


def test_strings_one_by_one() -> None:
    found = each_string("texts", iter(["a", "b", 3, "c"]))
    assert [next(found), next(found)] == ["a", "b"]
    with pytest.raises(TypeError, match=r"^`texts` must be a list of strings\. Received: int at place 2$"):
        next(found)
    assert list_of_strings("texts", ()) == []


@pytest.mark.parametrize(
    ("texts", "received"),
    [("ab" * 99, "one string, 'abab.*"), (b"a", "one string, b'a'"), ({"a"}, "set"), (None, "NoneType")],
)
def test_no_list_is_refused_before_the_first(texts: Any, received: str) -> None:
    with pytest.raises(TypeError, match=rf"^`texts` must be a list of strings\. Received: {received}$"):
        each_string("texts", texts)
