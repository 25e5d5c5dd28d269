"""Empty sides go, everything else remarkable is counted; no text is on both sides of a split."""

import re

import numpy as np
import pytest

from tf_transformer.data.cleaning import DUPLICATE_PAIRS, IDENTICAL_SIDES, clean, overlap, split_by_hash
from tf_transformer.data.report import CorpusReport
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import DataError


def _corpus(*pairs: tuple[str, str], name: str = "train") -> Corpus:
    columns = {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}
    lines = np.arange(1, len(pairs) + 1)
    return Corpus(columns, lines, name, (), CorpusReport(name, len(pairs)))


def _spaces(texts: list[str]) -> list[str]:
    return [re.sub(r"[\x00-\x20\x7f-\x9f\u00a0\u2028\u2029\u3000]+", " ", text).strip() for text in texts]


def test_pairs_with_an_empty_side_go_together() -> None:
    corpus = clean(_corpus(("a", "b"), ("", ""), ("\u3000\u200b", "d"), ("e ", "\x01"), (" f", "g")), _spaces)
    assert corpus.columns == {"source": ["a", "f"], "target": ["b", "g"]}
    assert corpus.lines.tolist() == [1, 5]
    assert corpus.report.to_lines() == [
        "train: 5 rows read, 2 kept",
        "  dropped: empty source: 1 (line 3)",
        "  dropped: empty source and target: 1 (line 2)",
        "  dropped: empty target: 1 (line 4)",
    ]


def test_remarkable_rows_are_noted_and_kept() -> None:
    corpus = _corpus(
        ("a\u2028b", "c\rd"),
        ("e\u200cf", "g"),
        ("\ufffd", "h"),
        ("cafe\u0301", "café"),
        ("&amp;", "and"),
        ("same", "same "),
        ("i", "j" * 10),
        ("k", "l" * 9),
        ("e\u200cf", "g"),
        ("e\u200cf", "G"),
    )
    cleaned = clean(corpus, _spaces)
    assert len(cleaned) == 10 and cleaned.columns["source"][0] == "a b"
    assert cleaned.report.to_lines()[1:] == [
        "  noted: HTML entities: 1 (line 5)",
        "  noted: U+FFFD replacement characters: 1 (line 3)",
        "  noted: control characters: 1 (line 1)",
        "  noted: duplicate pairs: 1 (line 9)",
        "  noted: identical sides: 1 (line 6)",
        "  noted: length ratio: 1 (line 7)",
        "  noted: not in normal form C: 1 (line 4)",
        "  noted: zero-width characters: 3 (lines 2, 9, 10)",
    ]


def test_a_clean_corpus_has_no_notes() -> None:
    cleaned = clean(_corpus(("Zwei Hunde, ja.", "Two dogs, yes."), ("ä", "上")), _spaces)
    assert cleaned.report.to_lines() == ["train: 2 rows read, 2 kept"]


def test_lines_of_a_text_are_nothing_remarkable_where_it_may_have_some() -> None:
    corpus = Corpus(
        {"text": ["a\nb\n", "\n \n", "c\td\n"]}, np.arange(1, 4), "verse", (), CorpusReport("verse", 3)
    )
    assert clean(corpus, list, has_lines=True).report.to_lines() == [
        "verse: 3 rows read, 2 kept",
        "  dropped: empty text: 1 (line 2)",
        "  noted: control characters: 1 (line 3)",
    ]
    assert "control characters: 2" in str(clean(corpus, list).report.to_lines())


def test_what_is_asked_for_is_dropped_and_counted() -> None:
    corpus = _corpus(("a", "a"), ("b", "c"), ("b ", "c"), ("b", "d"), ("B", "c"))
    assert clean(corpus, _spaces, deduplicate=True).lines.tolist() == [1, 2, 4, 5]
    cleaned = clean(corpus, _spaces, drop=[IDENTICAL_SIDES, DUPLICATE_PAIRS])
    assert cleaned.lines.tolist() == [2, 4, 5]
    assert cleaned.report.to_dict()["dropped"] == {
        "duplicate pairs": {"count": 1, "first_lines": [3]},
        "identical sides": {"count": 1, "first_lines": [1]},
    }


def test_an_empty_corpus_is_refused() -> None:
    corpus = _corpus(("a", ""), ("", "b"), (" ", "c"))
    with pytest.raises(DataError, match=r"no pairs are left of 3 rows \(empty source 2, empty target 1\)"):
        clean(corpus, _spaces)


def test_wrong_arguments_of_clean_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`drop` must hold members of .*Received: \['typos'\]"):
        clean(_corpus(("a", "b")), _spaces, drop=["typos"])
    with pytest.raises(ValueError, match=r"`max_length_ratio` must be above 1. Received: 1"):
        clean(_corpus(("a", "b")), _spaces, max_length_ratio=1)
    with pytest.raises(ValueError, match=r"as many texts as it gets. Received: 0 for 1"):
        clean(_corpus(("a", "b")), lambda texts: [])


def test_overlap_is_counted_by_side_and_pair() -> None:
    train = _corpus(("a", "A"), ("b", "B"), ("c", "C"))
    dev = _corpus(("x", "A"), ("b", "B"), ("c", "y"), ("z", "Z"), ("b", "Y"), name="dev")
    found = overlap(train, dev)
    assert found.to_dict() == {
        "train": "train",
        "dev": "dev",
        "rows": 5,
        "shared": {"source": 3, "target": 2, "pair": 1},
    }
    assert found.to_lines() == [
        "dev: 3 of 5 rows (60.0%) have a source that is in train too (first: line 2)",
        "dev: 2 of 5 rows (40.0%) have a target that is in train too (first: line 1)",
        "dev: 1 of 5 rows (20.0%) have a pair that is in train too (first: line 2)",
    ]
    assert overlap(train, _corpus(("x", "y"))).to_lines() == []


def test_a_split_keeps_equal_sources_together() -> None:
    pairs = [(f"source {number % 503}", f"target {number}") for number in range(2003)]
    train, dev = split_by_hash(_corpus(*pairs), 0.1)
    assert set(train.columns["source"]).isdisjoint(dev.columns["source"])
    assert sorted([*train.lines, *dev.lines]) == list(range(1, 2004))
    assert 0.06 < len(dev) / 2003 < 0.14
    assert train.report.kept == len(train) and dev.report.kept == len(dev)
    # A row stays on its side when the corpus grows or is shuffled.
    _, again = split_by_hash(_corpus(*reversed(pairs), ("new", "row")), 0.1)
    assert set(dev.columns["source"]) <= set(again.columns["source"])


def test_the_hash_is_the_same_everywhere() -> None:
    # The hashes begin with EB, 53, 53, 56 and A7: half of the range ends at 7F, a third at 55.
    corpus = _corpus(("Hello.", "1"), ("Good  bye.", "2"), ("Good bye.", "3"), ("Yes!", "4"), ("No!", "5"))
    assert split_by_hash(corpus, 1 / 2)[1].lines.tolist() == [2, 3, 4]
    assert split_by_hash(corpus, 1 / 3)[1].lines.tolist() == [2, 3]


def test_wrong_splits_are_refused() -> None:
    corpus = _corpus(("a", "b"), ("c", "d"))
    for fraction in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match=f"above 0 and below 1. Received: {fraction}"):
            split_by_hash(corpus, fraction)
    with pytest.raises(ValueError, match=r"one of \['source', 'target'\]. Received: 'label'"):
        split_by_hash(corpus, 0.5, column="label")
    with pytest.raises(DataError, match="a fraction of 1e-09 of 2 rows leaves one side without a row"):
        split_by_hash(corpus, 1e-9)
