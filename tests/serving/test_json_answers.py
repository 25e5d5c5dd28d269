"""Arrays as JSON: both formats, and numbers with the digits of their own type."""

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tf_transformer.serving.fault import Fault
from tf_transformer.serving.json_answers import in_columns, in_rows, plain


def texts(*words: bytes) -> Any:
    return np.array(words, object)


def test_rows_are_objects_and_single_results_are_values() -> None:
    answer = {"text": texts(b"a", "ß".encode()), "score": np.array([0.2, -1], np.float32)}
    assert json.loads(in_rows(answer)) == {
        "predictions": [{"score": 0.2, "text": "a"}, {"score": -1.0, "text": "ß"}]
    }
    assert json.loads(in_rows({"text": texts(b"a", b"b")})) == {"predictions": ["a", "b"]}


def test_columns() -> None:
    answer = {"text": texts(b"a"), "score": np.array([[1, 2]], np.int64)}
    assert json.loads(in_columns(answer)) == {"outputs": {"score": [[1, 2]], "text": ["a"]}}
    assert json.loads(in_columns({"count": np.array(3, np.int32)})) == {"outputs": 3}


@pytest.mark.parametrize(
    "answer",
    [
        {"a": np.zeros(2, np.int32), "b": np.zeros(3, np.int32)},
        {"a": np.zeros((), np.int32)},
        {"a": np.zeros(2, np.int32), "b": np.zeros((), np.int32)},
    ],
)
def test_results_without_common_rows_are_no_rows(answer: Any) -> None:
    with pytest.raises(Fault, match=r"not equally many rows; ask for them by 'inputs'\. They are a "):
        in_rows(answer)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([0.1, 1 / 3], np.float32), [0.1, 0.33333334]),
        (np.array([0.1], np.float64), [0.1]),
        (np.array([0.1], np.float16), [0.099975586]),
        (np.array([0.1], ml_dtypes.bfloat16), [0.100097656]),
        (np.array([True]), [True]),
        (np.zeros((2, 0), np.float32), [[], []]),
        (np.zeros((0, 2), np.float32), []),
        (np.array(2.5, np.float32), 2.5),
        (texts(b"\xffa"), ["\ufffda"]),
    ],
)
def test_plain_values(array: Any, expected: Any) -> None:
    assert plain("x", array) == expected


def test_bytes_are_base64_where_the_name_says_so() -> None:
    assert plain("picture_bytes", texts(b"\x00\xff")) == [{"b64": "AP8="}]


def test_what_is_no_number() -> None:
    found = plain("x", np.array([np.nan, np.inf], np.float32))
    assert np.isnan(found[0]) and found[1] == np.inf
