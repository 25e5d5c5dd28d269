"""Columns and tags of sources: cleaned apart, one line each, carved together."""

from pathlib import Path

import numpy as np
import pytest

from tf_transformer.data.report import CorpusReport
from tf_transformer.data.source_lines import cleaned_lines, joined, split_untagged
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import DataError
from tf_transformer.text import Normalizer, SourceForm

FORM = SourceForm(2, ["de", "fr"])
normalize = Normalizer().normalize_texts


def corpus(**columns: list[str]) -> Corpus:
    count = len(next(iter(columns.values())))
    return Corpus(columns, np.arange(count) + 1, "given", (Path("given"),), CorpusReport("given", count))


def test_columns_become_lines() -> None:
    apart = corpus(source=["a", "b"], source_2=["c", "d"], target=["e", "f"])
    assert joined(apart).columns == {"source": ["a\tc", "b\td"], "target": ["e", "f"]}
    assert joined(apart, "fr").columns["source"] == ["fr\ta\tc", "fr\tb\td"]
    plain = corpus(source=["a"], target=["b"])
    assert joined(plain) is plain
    assert joined(plain, "fr").columns == {"source": ["fr\ta"], "target": ["b"]}


def test_given_lines_are_cleaned_column_by_column() -> None:
    lines = ["fr\ta  a\t \x01b", "", "de\tc\t", "de\td\te"]
    found = cleaned_lines(corpus(source=lines, target=["1", "2", "3", "4"]), FORM, normalize)
    assert found.columns == {"source": ["fr\ta a\tb", "de\td\te"], "target": ["1", "4"]}
    assert found.lines.tolist() == [1, 4]
    assert "  dropped: empty source_2: 1 (line 3)" in found.report.to_lines()
    one_tag = cleaned_lines(corpus(source=["a\tfr"], target=["1"]), FORM, normalize, "de")
    assert one_tag.columns["source"] == ["de\ta\tfr"]


@pytest.mark.parametrize(
    ("line", "tag", "rule"),
    [
        ("a\tb", None, r"given, line 2: must begin with a tag, de or fr, and a tab\. Received: 'a'"),
        ("a", "de", r"given, line 2: must have 2 columns, with a tab between each two\. Received: 1"),
    ],
)
def test_a_wrong_line_is_named(line: str, tag: str | None, rule: str) -> None:
    first = "a\tb" if tag else "fr\ta\tb"
    with pytest.raises(DataError, match=rule):
        cleaned_lines(corpus(source=[first, line], target=["1", "2"]), FORM, normalize, tag)


def test_a_text_is_carved_out_under_all_of_its_tags() -> None:
    halves = [
        split_untagged(corpus(source=[f"{tag}\t{number}" for number in range(40)]), 0.3) for tag in FORM.tags
    ]
    (rest, carved), (other_rest, other_carved) = halves
    assert rest.lines.tolist() == other_rest.lines.tolist()
    assert carved.lines.tolist() == other_carved.lines.tolist() and 0 < len(carved) < 40
