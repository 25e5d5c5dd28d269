"""YAML into plain values with their lines."""

import math
from typing import Any

import pytest

from tf_transformer.recipe.yaml_tree import YamlFault, read_tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("-1.5", -1.5),
        (".5", 0.5),
        ("10_000", 10000),
        ("010", 10),
        ("+7", 7),
        ("true", True),
        ("False", False),
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("0x10", "0x10"),
        ("1e", "1e"),
        ("'1e3'", "1e3"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("null", None),
        ("~", None),
        ("[1, [2]]", [1, [2]]),
        ("{a: 1, 2: b}", {"a": 1, "2": "b"}),
        ("=", "="),
        ("", None),
        ("# nothing", None),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = read_tree(text)
    assert found.data == value and type(found.data) is type(value)
    assert found.faults == []


def test_numbers_that_are_not_finite_are_numbers() -> None:
    assert read_tree("[.inf, -.inf, 1e999]").data == [math.inf, -math.inf, math.inf]
    assert math.isnan(read_tree(".nan").data)


def test_lines_count_from_one_and_stand_at_keys() -> None:
    tree = read_tree("a:\n  b: 1\n  c:\n    - x\n    - y: 2\n")
    expected = {(): 1, ("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("a", "c", 0): 4, ("a", "c", 1): 5}
    assert {path: tree.lines[path] for path in expected} == expected
    assert tree.lines["a", "c", 1, "y"] == 5


def test_anchors_and_merge_keys() -> None:
    tree = read_tree("a: &one {x: 1, y: 2}\nb: {<<: *one, y: 3}\nc: *one\nd: {<<: [{x: 5}, *one]}\n")
    assert tree.data["b"] == {"x": 1, "y": 3}
    assert tree.data["c"] == {"x": 1, "y": 2} and tree.data["c"] is not tree.data["a"]
    assert tree.data["d"] == {"x": 5, "y": 2}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: 2\na: 3\n", (3, ("a",), "this key stands here twice; first on line 1")),
        (
            "a: !!python/object:os.system x",
            (1, ("a",), "the tag tag:yaml.org,2002:python/object:os.system is not"),
        ),
        ("a: !mine x", (1, ("a",), "the tag !mine is not allowed in a recipe")),
        ("? [a, b]\n: 1\n", (1, (), "a key must be one word")),
        ("a: {<<: 3}", (1, ("a",), "<< must name a mapping")),
        ("a: !!int x", (1, ("a",), "not a readable int")),
        ("a: !!bool x", (1, ("a",), "not a readable bool")),
        ("a: " + "9" * 5000, (1, ("a",), "not a readable int")),
    ],
)
def test_what_yaml_allows_and_a_recipe_does_not(text: str, fault: tuple[int, Any, str]) -> None:
    (found,) = read_tree(text).faults
    assert found[:2] == fault[:2] and found[2].startswith(fault[2])


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("a:\n\tb: 1\n", "a tab may not indent; use spaces", 2),
        ("a: [1, 2\nb: 3\n", "expected ',' or ']'", 2),
        ("a: 'open\n", "found unexpected end of stream", 2),
        ("a: 1\n---\nb: 2\n", "another YAML document begins here, and a recipe is one", 2),
        ("a: *nobody\n", "found undefined alias 'nobody'", 1),
        ("a: 1\nb: \x07\n", "character U\\+0007 may not stand in YAML", 2),
        ("[" * 5000, "nested too deeply", 1),
        ("[" * 30 + "]" * 30, "nested more than 20 levels deep", 1),
        ("a: &a [*a]\n", "nested more than 20 levels deep", 1),
        ("a: &a\n  b: *a\n", "nested more than 20 levels deep", 1),
        ("x" * 1_000_001, "longer than 1000000 characters", 1),
    ],
)
def test_what_is_no_yaml(text: str, rule: str, line: int) -> None:
    with pytest.raises(YamlFault, match=rule) as caught:
        read_tree(text)
    assert caught.value.line == line


def test_a_few_lines_cannot_become_many_values() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(YamlFault, match="more than 20000 values once anchors are written out"):
        read_tree("\n".join(lines))
