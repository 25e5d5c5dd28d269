"""Files of bad text, one kind each: read as a careful loader reads them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tf_transformer.data.cleaning import clean, split_by_hash
from tf_transformer.data.pipeline import encode, evaluation_batches, limit, token_warnings
from tf_transformer.data.sources import Corpus, read_parallel, read_table
from tf_transformer.errors import DataError
from tf_transformer.text import Normalizer, Preprocessor

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "dirty"
LABELS = "42_labels.tsv"  # rows of a classifier are read by other rules
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the folder of bad text is not there")


def _cases() -> list[dict[str, Any]]:
    if not FOLDER.exists():
        return []
    cases = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if case["id"] != LABELS]


CASES = {case["id"]: case for case in _cases()}


@cache
def _normalizer() -> Normalizer:
    return Normalizer()


def _load(case: str, **options: Any) -> Corpus:
    files = [FOLDER / name for name in CASES[case]["files"]]
    if len(files) == 1:
        columns = ("source", "target") if files[0].suffix == ".csv" else (1, 2)
        corpus = read_table(files[0], dict(zip(("source", "target"), columns, strict=True)), **options)
    else:
        corpus = read_parallel({"source": files[0], "target": files[1]}, **options)
    return clean(corpus, _normalizer().normalize_texts)


KEPT_OTHERWISE = {"04_utf16le": 10, "09_long_line": 10}  # decoded by its mark; limits come after encoding


@pytest.mark.parametrize("case", [case for case in CASES if "error" not in CASES[case].get("outcome", "")])
def test_pairs_are_kept_without_options(case: str) -> None:
    assert len(_load(case)) == KEPT_OTHERWISE.get(case, CASES[case]["pairs_kept"])


@pytest.mark.parametrize(
    "case", ["02_crlf", "03_bom", "04_utf16le", "14_no_final_newline", "35_gzip", "27_cr_inside"]
)
def test_the_same_pairs_in_another_shape(case: str) -> None:
    assert _load(case).columns == _load("01_clean").columns


def test_a_clean_file_has_no_remarks() -> None:
    assert _load("01_clean").report.to_lines() == ["01_clean.en: 10 rows read, 10 kept"]


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("06_latin1", r"06_latin1.de: 6 bad rows .*line 3: byte 14 of the line \(byte 120 .*Received: 0xE4"),
        ("08_gb18030", r"08_gb18030.zh: 10 bad rows .*line 1: byte 3 of the line .*Received: 0xB8"),
        ("13_unequal", r"13_unequal.en has 10, .*13_unequal.de has 9"),
        ("18_tabs.tsv", r"line 3: 3 columns, .*line 5: 1 column, .*line 7: column 2 .* 2 columns is empty"),
        ("37_empty_file", r"37_empty_file.en: the file is empty: there are no pairs to read"),
        ("40_bad_utf8", r"40_bad_utf8.de: 4 bad rows .not utf-8 4.: line 2: .*line 4: .*line 6: .*line 8: "),
    ],
)
def test_what_cannot_be_read_rightly_stops(case: str, rule: str) -> None:
    with pytest.raises(DataError, match=rule):
        _load(case)


def test_options_help() -> None:
    assert _load("06_latin1", encoding="latin-1").columns == _load("01_clean").columns
    assert _load("08_gb18030", encoding="gb18030").columns["target"][0].startswith("一个穿")
    assert len(_load("18_tabs.tsv", on_bad_row="skip")) == 7
    assert _load("40_bad_utf8", on_bad_row="skip").lines.tolist() == [1, 3, 5, 7, 9, 10]


def test_what_is_dropped_and_noted_is_counted() -> None:
    for case, kind, section, count in [
        ("11_empty_lines", "empty source and target", "dropped", 1),
        ("11_empty_lines", "empty source", "dropped", 1),
        ("11_empty_lines", "empty target", "dropped", 1),
        ("12_whitespace", "empty source", "dropped", 2),
        ("16_duplicates", "duplicate pairs", "noted", 2),
        ("23_zero_width", "zero-width characters", "noted", 9),
        ("29_normal_forms", "not in normal form C", "noted", 7),
        ("31_wrong_pairs", "identical sides", "noted", 4),
        ("31_wrong_pairs", "length ratio", "noted", 1),
        ("32_mojibake", "U+FFFD replacement characters", "noted", 1),
        ("44_chinese", "empty source", "dropped", 1),
    ]:
        assert getattr(_load(case).report, section)[kind].count == count, (case, kind)


def test_texts_are_what_they_should_be() -> None:
    assert _load("12_whitespace").columns["source"][1] == "Two dogs are playing in the snow."
    assert _load("17_html_entities").columns["source"][8] == "&amp;amp; twice"
    assert _load("19_attribution.tsv").columns["target"][1] == "两只狗在雪地里玩耍。"
    quoted = _load("21_rfc4180.csv").columns["source"]
    assert quoted[1:3] == ['He said, "Stop, now!"', "first line second line"]
    assert _load("25_unicode_line_breaks").columns["target"] == _load("01_clean").columns["target"]
    assert "\u200c" in _load("23_zero_width").columns["source"][8]
    assert "</s>" in " ".join(_load("33_special_token_text").columns["source"])


def test_duplicates_go_when_asked_and_splits_group_sources() -> None:
    corpus = read_parallel({"source": FOLDER / "16_duplicates.en", "target": FOLDER / "16_duplicates.de"})
    assert len(clean(corpus, _normalizer().normalize_texts, deduplicate=True)) == 8
    train, dev = split_by_hash(corpus, 0.5)
    assert set(train.columns["source"]).isdisjoint(dev.columns["source"])


def _encoders(preprocessor: Preprocessor) -> dict[str, Any]:
    return {"source": preprocessor.encode_source, "target": preprocessor.encode_target}


def test_an_endless_pair_is_dropped_or_cut_before_padding() -> None:
    corpus = _load("09_long_line")
    words = Preprocessor.train(*corpus.columns.values(), tokenizer="words", vocabulary_size=500)
    encoded = encode(corpus, _encoders(words))
    assert int(encoded.lengths["source"].max()) > 12_000
    dropped = limit(encoded, {"source": 61, "target": 53})
    assert len(dropped) == 9 and dropped.reports[0].dropped["source over 61 positions"].first == (5,)
    cut = limit(encoded, {"source": 61, "target": 53}, "truncate")
    assert len(cut) == 10 and (cut.lengths["source"][4], cut.lengths["target"][4]) == (61, 53)
    evaluation = evaluation_batches(cut, 400, words.assemble)
    for batch, (inputs, labels) in zip(evaluation.batches, evaluation.dataset, strict=True):
        assert inputs["source_ids"].shape == (len(batch.rows), batch.lengths["source"])
        assert inputs["target_ids"].shape == labels.shape == (len(batch.rows), batch.lengths["target"])
        real = tf.reduce_sum(tf.cast(labels != 0, tf.int64)).numpy()
        assert real == cut.lengths["target"][batch.rows].sum()


def test_whole_chinese_lines_as_words_are_warned_of() -> None:
    corpus = _load("44_chinese")
    words = Preprocessor.train(*corpus.columns.values(), tokenizer="words", vocabulary_size=500)
    assert token_warnings(encode(corpus, _encoders(words))) == ()  # it takes each character as a word

    def at_spaces(strings: tf.Tensor) -> tf.RaggedTensor:
        return tf.cast(tf.strings.length(tf.strings.split(strings)), tf.int32)

    found = token_warnings(encode(corpus, {"source": at_spaces}), ends=())
    assert len(found) == 1 and found[0].startswith("source has 1.")
