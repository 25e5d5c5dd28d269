"""Words from elsewhere in Markdown: what a reader of it sees is the text, whatever it holds."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tf_transformer.errors import printable
from tf_transformer.export.markdown import escaped, front_matter, paragraphs, table

HOSTILE = (
    "plain",
    "snake_case and _emphasis_ and *more*",
    "<script>alert(1)</script>",
    "[a](javascript:x) ![b](c) [d]: e",
    "`code` ``` fence",
    "a | b",
    "# heading",
    "- list",
    "+ list",
    "12. list",
    "3) list",
    "=== under",
    "---",
    "&lt; &copy; \\ \\<b>",
    "~~gone~~ $x$ <https://example.org> ",
)


def shown(markdown: str) -> tuple[str, set[str]]:
    """The text that is seen, and the kinds of tokens that make it."""
    tokens = MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(markdown)
    inline = [child for token in tokens for child in token.children or ()]
    return "".join(each.content for each in inline), {each.type for each in [*tokens, *inline]}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_seen_as_it_is(text: str) -> None:
    seen, kinds = shown(escaped(text))
    assert seen == " ".join(text.split())
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}


@settings(deadline=None, max_examples=60)
@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_any_text_is_seen_as_it_is(text: str) -> None:
    line = printable(" ".join(text.split()))
    seen, kinds = shown(f"- {escaped(text)}x")
    assert seen == (f"{line}x" if line else "x")
    assert kinds <= {
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
        *("paragraph_open", "paragraph_close", "inline", "text", "text_special"),
    }


def test_paragraphs_and_tables() -> None:
    assert paragraphs("one\nline\n \n\n- two\n") == "one line\n\n\\- two"
    made = table(("a", "b"), [(escaped("x|y"), escaped("z\nz"))])
    assert made == "| a | b |\n| --- | --- |\n| x\\|y | z z |"


def test_what_programs_read_is_yaml() -> None:
    values = {"name": "---\na: b", "language": ["no", "zh-Hant"], "n": 1.5}
    head = front_matter(values)
    assert head.startswith("---\n") and head.endswith("---\n") and head.count("\n---\n") == 1
    assert yaml.safe_load(head[4:-4]) == values
