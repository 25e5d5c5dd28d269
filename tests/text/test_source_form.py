"""Lines of tags and columns: what is right, what is wrong, and the parts that they have."""

import re

import pytest
import tensorflow as tf

from tf_transformer.text import SourceForm

TAGGED, COLUMNS, BOTH = SourceForm(1, ["de", "fr"]), SourceForm(3), SourceForm(2, ["de", "fr"])
EMPTY = ["", "  ", "\t", " \t\t "]


def parts(form: SourceForm, lines: list[str]) -> list[list[tuple[str, int]]]:
    text, token = form.split(tf.constant(lines), tf.strings.strip)
    rows = zip(text.to_list(), token.to_list(), strict=True)
    return [[(part.decode(), number) for part, number in zip(*row, strict=True)] for row in rows]


@pytest.mark.parametrize(
    ("form", "line", "expected"),
    [
        (TAGGED, "fr\ta b", [("a b", 1)]),
        (TAGGED, "de\ta\tb", [("a\tb", 0)]),  # white space, where there is one column
        (TAGGED, "de\tfr\tb", [("fr\tb", 0)]),
        (COLUMNS, "a\t b \tc", [("a", -1), ("b", 0), ("c", 0)]),
        (COLUMNS, "a\t\tc", [("a", -1), ("", 0), ("c", 0)]),
        (BOTH, "fr\ta\tb", [("a", 2), ("b", 0)]),
        (BOTH, "de\t\tb", [("", 1), ("b", 0)]),
        (BOTH, "de\tfr\tde", [("fr", 1), ("de", 0)]),
    ],
)
def test_the_parts_of_a_line(form: SourceForm, line: str, expected: list[tuple[str, int]]) -> None:
    assert form.fault(line) is None
    assert parts(form, [line, ""]) == [expected, []]
    fields = form.fields(line)
    assert [field.strip() for field in fields[bool(form.tags) :]] == [text for text, _ in expected]
    assert form.texts([line]) == fields[bool(form.tags) :]


@pytest.mark.parametrize("form", [TAGGED, COLUMNS, BOTH])
def test_a_line_without_text_has_no_parts(form: SourceForm) -> None:
    lines = [*EMPTY, *(f"fr\t{line}" for line in EMPTY if form.tags)]
    assert [form.fault(line) for line in lines] == [None] * len(lines)
    assert parts(form, lines) == [[]] * len(lines)
    assert {len(form.fields(line)) for line in lines} == {form.columns + bool(form.tags)}


@pytest.mark.parametrize(
    ("form", "line", "fault"),
    [
        (TAGGED, "a b", "must begin with a tag, de or fr, and a tab. Received: 'a b'"),
        (TAGGED, "es\ta", "must begin with a tag, de or fr, and a tab. Received: 'es'"),
        (TAGGED, "\ta", "must begin with a tag, de or fr, and a tab. Received: ''"),
        (TAGGED, "FR\ta", "must begin with a tag, de or fr, and a tab. Received: 'FR'"),
        (TAGGED, "<fr>\ta", "must begin with a tag, de or fr, and a tab. Received: '<fr>'"),
        (COLUMNS, "a\tb", "must have 3 columns, with a tab between each two. Received: 2"),
        (COLUMNS, "a\tb\tc\td", "must have 3 columns, with a tab between each two. Received: 4"),
        (BOTH, "fr\ta", "must have 2 columns, with a tab between each two. Received: 1"),
        (BOTH, "a\tb", "must begin with a tag, de or fr, and a tab. Received: 'a'"),
    ],
)
def test_a_wrong_line_is_refused_in_python_and_in_a_graph(form: SourceForm, line: str, fault: str) -> None:
    assert form.fault(line) == fault
    with pytest.raises(ValueError, match=rf"^`texts\[1\]` {re.escape(fault)}$"):
        form.lines(["", line])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be de or fr|must have 3 columns"):
        parts(form, ["", line])


def test_a_plain_source_is_one_text() -> None:
    form = SourceForm()
    assert form.is_plain and form.special_tokens == () and form.fault("a\tb") is None
    assert form.lines(["a\tb"]) == form.fields("a\tb") == form.texts(["a\tb"]) == ["a\tb"]
    with pytest.raises(ValueError, match=r"`tag` must be left out: the model has no tags\. Received: 'fr'"):
        form.lines(["a"], tag="fr")


def test_a_tag_for_all() -> None:
    assert TAGGED.lines(["a", "fr\tb", ""], tag="de") == ["de\ta", "de\tfr\tb", "de\t"]
    assert BOTH.special_tokens == ("<|>", "<de>", "<fr>") and COLUMNS.special_tokens == ("<|>",)
    assert SourceForm(**BOTH.options) == BOTH


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"columns": 0}, "`columns` must be at least 1. Received: 0"),
        ({"tags": [""]}, "`tags` must be names without white space. Received: ''"),
        ({"tags": ["a b"]}, "`tags` must be names without white space. Received: 'a b'"),
        ({"tags": ["a", "a"]}, "`tags` must be different names. Received: 'a' twice"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=re.escape(rule)):
        SourceForm(**arguments)  # type: ignore[arg-type]
