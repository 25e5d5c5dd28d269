"""JSON values as arrays: each rule of TensorFlow Serving, and each value that breaks one."""

import base64
import json
import re
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.serving.fault import Fault
from tf_transformer.serving.json_tensors import array_of, from_columns, from_rows, parse
from tf_transformer.serving.signature import Spec

TEXT = {"text": Spec(tf.string, (None,))}
BOTH = {"text": Spec(tf.string, (None,)), "times": Spec(tf.int32, (None,))}


def encoded(content: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(content).decode()}


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (["a", "ß", ""], tf.string, (3,)),
        ("a", tf.string, ()),
        ([], tf.string, (0,)),
        ([[], []], tf.float32, (2, 0)),
        ([[1, 2, 3], [4, 5, 6]], tf.int32, (2, 3)),
        ([0.5, 1, -2], tf.float32, (3,)),
        ([True, False], tf.bool, (2,)),
        ([[[2**40]]], tf.int64, (1, 1, 1)),
        ([255, 0], tf.uint8, (2,)),
        ([16777216], tf.float32, (1,)),
    ],
)
def test_values_become_arrays(value: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    array = array_of(value, Spec(dtype, None), "x")
    assert array.shape == shape
    expected = value if dtype != tf.string else np.char.encode(np.array(value, str), "utf-8").tolist()
    assert array.tolist() == expected


def test_bytes_keep_zeros_at_their_ends() -> None:
    array = array_of([encoded(b"\x00\xff\x00"), "a"], TEXT["text"], "x")
    assert array.tolist() == [b"\x00\xff\x00", b"a"]


def test_what_is_no_finite_number_is_a_number() -> None:
    array = array_of(parse(b'{"x": [NaN, Infinity, -Infinity]}')["x"], Spec(tf.float32, (None,)), "x")
    np.testing.assert_array_equal(array, [np.nan, np.inf, -np.inf])


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        ([1], tf.string, "input x must be of type string. Received: 1"),
        ([None], tf.string, "input x must be of type string. Received: null"),
        ([{"b64": 1}], tf.string, 'input x must be of type string. Received: {"b64": 1}'),
        ([{"b64": "a*"}], tf.string, "input x: no valid base64. Received"),
        (["\ud800"], tf.string, "input x: no valid Unicode. Received"),
        (["1"], tf.int32, 'input x must be of type int32. Received: "1"'),
        ([1.0], tf.int32, "input x must be of type int32. Received: 1.0"),
        ([True], tf.int32, "input x must be of type int32. Received: true"),
        ([256], tf.uint8, "input x: uint8 must be from 0 to 255. Received: 256"),
        ([2**31], tf.int32, "int32 must be from -2147483648 to 2147483647. Received: 2147483648"),
        ([False], tf.float32, "input x must be of type float32. Received: false"),
        ([16777217], tf.float32, "input x: float32 cannot hold this number. Received: 16777217"),
        ([1e39], tf.float32, "input x: float32 cannot hold this number. Received: 1e+39"),
        ([0], tf.bool, "input x must be of type bool. Received: 0"),
        ([[1], [2, 3]], tf.int32, "lists at one depth must be equally long. Received: [[1], [2, 3]]"),
        ([1, [2]], tf.int32, "lists at one depth must be equally long. Received: [1, [2]]"),
        ([1j], tf.complex64, "values of type complex64 cannot be given in JSON"),
    ],
)
def test_values_that_are_refused(value: Any, dtype: Any, message: str) -> None:
    with pytest.raises(Fault, match=re.escape(message)):
        array_of(value, Spec(dtype, None), "x")


def test_lists_can_be_nested_too_deeply() -> None:
    deep: Any = 1
    for _ in range(33):
        deep = [deep]
    with pytest.raises(Fault, match="equally long"):
        array_of(deep, Spec(tf.int32, None), "x")


def test_rows() -> None:
    assert from_rows(["a", "b"], TEXT)["text"].tolist() == [b"a", b"b"]
    assert from_rows([encoded(b"a")], TEXT)["text"].tolist() == [b"a"]
    found = from_rows([{"text": "a", "times": 2}, {"times": 3, "text": encoded(b"b")}], BOTH)
    assert {name: array.tolist() for name, array in found.items()} == {"text": [b"a", b"b"], "times": [2, 3]}


@pytest.mark.parametrize(
    ("instances", "specs", "message"),
    [
        ("a", TEXT, "'instances' must be a list. Received: \"a\""),
        ({"text": "a"}, TEXT, "'instances' must be a list. Received: {"),
        ([], TEXT, "'instances' must hold at least one value. Received: an empty list"),
        ([{"text": "a"}, "b"], TEXT, "'instances' must be all objects, or all values. Received"),
        ([{"txt": "a"}], TEXT, "'instances', item 0: keys must be text. Received: [\"txt\"]"),
        ([{"text": "a"}], BOTH, "'instances', item 0: keys must be text, times. Received: [\"text\"]"),
        (["a"], BOTH, "'instances' must be objects of text, times. Received: [\"a\"]"),
        (["a"] * 99, BOTH, "'instances' must be objects of text, times. Received: a list of 99"),
    ],
)
def test_rows_that_are_refused(instances: Any, specs: Any, message: str) -> None:
    with pytest.raises(Fault, match=re.escape(message)):
        from_rows(instances, specs)


def test_columns() -> None:
    assert from_columns(["a", "b"], TEXT)["text"].tolist() == [b"a", b"b"]
    assert from_columns({"text": ["a"], "more": 1}, TEXT)["text"].tolist() == [b"a"]
    assert from_columns(encoded(b"a"), {"text": Spec(tf.string, ())})["text"].tolist() == b"a"
    assert from_columns({"text": ["a"], "times": [2]}, BOTH)["times"].tolist() == [2]


@pytest.mark.parametrize(
    ("inputs", "specs", "message"),
    [
        (["a"], BOTH, "'inputs' must be an object of text, times. Received: [\"a\"]"),
        ({"txt": ["a"]}, TEXT, "'inputs' must have text. Received: [\"txt\"]"),
        ({"text": ["a"]}, BOTH, "'inputs' must have times. Received: [\"text\"]"),
    ],
)
def test_columns_that_are_refused(inputs: Any, specs: Any, message: str) -> None:
    with pytest.raises(Fault, match=re.escape(message)):
        from_columns(inputs, specs)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON Parse error: "),
        (b'{"instances": [', "JSON Parse error: "),
        (b"\xff\xfe\x00\x80", "JSON Parse error: "),
        (b"[" * 100_000, "JSON Parse error: nested too deeply"),
        (b'{"x": ' + b"9" * 5000 + b"}", "JSON Parse error: "),
        (b"[1]", "the body must be a JSON object. Received: [1]"),
        (b'"' + b"a" * 99 + b'"', f'the body must be a JSON object. Received: "{"a" * 59} …'),
    ],
)
def test_bodies_that_are_no_object(body: bytes, message: str) -> None:
    with pytest.raises(Fault, match=re.escape(message)) as found:
        parse(body)
    assert len(found.value.reason) < 250 and "\n" not in found.value.reason


def test_a_body_may_begin_with_a_byte_order_mark() -> None:
    assert parse(b"\xef\xbb\xbf" + json.dumps({"a": 1}).encode()) == {"a": 1}
