"""Texts to ragged ids: aligned, limited before padding, every loss counted on its side."""

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.data import encoding
from tf_transformer.data.encoding import EncodedCorpus, encode, limit, merge, token_warnings
from tf_transformer.data.report import CorpusReport
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import DataError

END = 3


def _corpus(sources: list[str], targets: list[str], name: str = "train") -> Corpus:
    lines = np.arange(1, len(sources) + 1) * 10
    report = CorpusReport(name, len(sources))
    return Corpus({"source": sources, "target": targets}, lines, name, (), report)


def _digits(strings: tf.Tensor) -> tf.RaggedTensor:
    """One id a digit: its value."""
    return tf.cast(tf.strings.unicode_decode(strings, "UTF-8"), tf.int32) - ord("0")


def _ended(strings: tf.Tensor) -> tf.RaggedTensor:
    ids = _digits(strings)
    return tf.concat([ids, tf.fill([ids.nrows(), 1], END)], axis=1)


ENCODERS = {"source": _ended, "target": _digits}


def _encoded(sources: list[str], targets: list[str], name: str = "train") -> EncodedCorpus:
    return encode(_corpus(sources, targets, name), ENCODERS)


def test_rows_are_encoded_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_LINES_AT_ONCE", 2)
    encoded = _encoded(["45", "6", "789", "1", "71"], ["5", "77", "8", "9999", "1"])
    assert encoded.columns["source"].to_list() == [[4, 5, 3], [6, 3], [7, 8, 9, 3], [1, 3], [7, 1, 3]]
    assert encoded.columns["target"].to_list() == [[5], [7, 7], [8], [9, 9, 9, 9], [1]]
    assert encoded.columns["source"].dtype == tf.int32
    # Positions in the model: the source has its END among the ids, the target gets a START.
    assert encoded.lengths["source"].tolist() == [3, 2, 4, 2, 3]
    assert encoded.lengths["target"].tolist() == [2, 3, 2, 5, 2]
    assert encoded.reports[0].noted["unknown tokens in source"].first == (40, 50)
    assert encoded.reports[0].noted["unknown tokens in target"].count == 1
    assert len(encoded) == 5 and encoded.where([4, 0]) == ["train:50", "train:10"]


def test_wrong_encoders_are_refused() -> None:
    corpus = _corpus(["4", "5"], ["6", "7"])
    with pytest.raises(ValueError, match=r"`encoders` must be for \['source', 'target'\]. Received: 'label'"):
        encode(corpus, {"label": _digits})
    with pytest.raises(ValueError, match=r"'source' must return a row for each text. Received: 1 rows for 2"):
        encode(corpus, {"source": lambda strings: _digits(strings[:1])})
    for wrong, received in ((tf.zeros([2, 3]), "EagerTensor of float32"), ([[1], [2]], "list")):
        rule = f"'source' must return ragged integers, or one integer a text. Received: {received}"
        with pytest.raises(TypeError, match=rule):
            encode(corpus, {"source": lambda _, wrong=wrong: wrong})


def test_long_rows_are_dropped_whole() -> None:
    encoded = _encoded(["4", "444444", "55", "", "66666"], ["5", "6", "77777777", "", "7777777"])
    limited = limit(encoded, {"source": 5, "target": 7})
    assert limited.columns["source"].to_list() == [[4, 3]]
    assert limited.columns["target"].to_list() == [[5]]
    assert limited.lines.tolist() == [10]
    assert limited.reports[0].to_lines() == [
        "train: 5 rows read, 1 kept",
        "  dropped: no tokens in target: 1 (line 40)",
        "  dropped: source over 5 positions: 2 (lines 20, 50)",
        "  dropped: target over 7 positions: 1 (line 30)",
    ]


def test_long_rows_are_cut_on_both_sides() -> None:
    encoded = _encoded(["4567", "44", "45678", ""], ["56789", "5", "5", "5678"])
    limited = limit(encoded, {"source": 4, "target": 3}, "truncate")
    # An END stays the last id; the target of 3 positions has 2 ids and the START.
    assert limited.columns["source"].to_list() == [[4, 5, 6, 3], [4, 4, 3], [4, 5, 6, 3], [3]]
    assert limited.columns["target"].to_list() == [[5, 6], [5], [5], [5, 6]]
    assert limited.lengths["source"].tolist() == [4, 3, 4, 1]
    assert limited.lengths["target"].tolist() == [3, 2, 2, 3]
    assert limited.reports[0].to_lines() == [
        "train: 4 rows read, 4 kept",
        "  noted: truncated: source over 4 positions: 2 (lines 10, 30)",
        "  noted: truncated: target over 3 positions: 2 (lines 10, 40)",
    ]
    assert encoded.columns["source"].to_list()[0] == [4, 5, 6, 7, 3]  # the one given is untouched
    assert limit(encoded, {}, "truncate").columns["source"].to_list() == encoded.columns["source"].to_list()


def test_wrong_limits_are_refused() -> None:
    encoded = _encoded(["44", "5"], ["5", "666"])
    with pytest.raises(ValueError, match=r"`on_long` must be 'drop' or 'truncate'. Received: 'cut'"):
        limit(encoded, {}, "cut")  # type: ignore[arg-type]
    for limits, rule in (
        ({"source": 1}, r"`max_lengths\['source'\]` must be at least 2. Received: 1"),
        ({"source": 2.5}, r"`max_lengths\['source'\]` must be a whole number, at least 2. Received: 2.5"),
        ({"label": 7}, r"`max_lengths` must be of \['source', 'target'\]. Received: 'label'"),
    ):
        with pytest.raises((TypeError, ValueError), match=rule):
            limit(encoded, limits)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"train: no rows are left of 2 \(source over 2.*: 1, target over 3"):
        limit(encoded, {"source": 2, "target": 3})


def test_merged_corpora_know_their_rows() -> None:
    books = _encoded(["4", "55"], ["6", "7"], "books")
    news = _encoded(["666"], ["4567"], "news")
    web = _encoded(["7", "8888888"], ["8", "9"], "web")
    merged = merge([books, merge([news, web])])
    assert merged.columns["source"].to_list()[:3] == [[4, 3], [5, 5, 3], [6, 6, 6, 3]]
    assert merged.corpora.tolist() == [0, 0, 1, 2, 2]
    assert merged.where(np.array([4, 1, 2])) == ["web:20", "books:20", "news:10"]
    limited = limit(merged, {"source": 7})
    assert [report.kept for report in limited.reports] == [2, 1, 1]
    assert limited.where(range(4)) == ["books:10", "books:20", "news:10", "web:10"]
    with pytest.raises(ValueError, match="`corpora` must be one or more with the same columns"):
        merge([books, encode(_corpus(["4"], ["5"]), {"source": _ended})])
    with pytest.raises(ValueError, match=r"`corpora` must be one or more.*Received: \[\]"):
        merge([])


def test_whole_lines_as_words_are_warned_of() -> None:
    def words(strings: tf.Tensor) -> tf.RaggedTensor:
        return tf.cast(tf.strings.length(tf.strings.split(strings, " ")), tf.int32)

    chinese, english = ["两只狗在雪地里玩耍", "你好"], ["two dogs play", "hello to you"]
    corpus = _corpus(chinese, english)
    encoded = encode(corpus, {"source": words, "target": words})
    encoded.lengths["source"] += 1  # an END
    warnings = token_warnings(encoded)
    assert len(warnings) == 1
    assert warnings[0].startswith("source has 1.00 tokens a line: whole lines have become words.")


def test_labels_are_a_column_of_one_integer_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_LINES_AT_ONCE", 2)

    def label(strings: tf.Tensor) -> tf.Tensor:
        return tf.strings.to_number(strings, tf.int64)

    corpus = _corpus(["44", "555555", "6"], ["7", "8", "9"])
    encoded = encode(corpus, {"source": _ended, "target": label})
    assert encoded.columns["target"].numpy().tolist() == [7, 8, 9]
    assert encoded.columns["target"].dtype == tf.int32 and list(encoded.lengths) == ["source"]
    limited = limit(encoded, {"source": 4})
    assert limited.columns["target"].numpy().tolist() == [7, 9]
    merged = merge([limited, encode(_corpus(["4"], ["5"]), {"source": _ended, "target": label})])
    assert merged.columns["target"].numpy().tolist() == [7, 9, 5]
    with pytest.raises(ValueError, match=r"must return a row for each text. Received: 1 rows for 2"):
        encode(corpus, {"target": lambda strings: label(strings[:1])})
