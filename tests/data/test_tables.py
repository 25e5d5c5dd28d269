"""Tables: tabs without quotes, commas by RFC 4180, JSON lines; ragged rows are named, never guessed."""

import gzip
from pathlib import Path

import pytest

from tf_transformer.data.sources import Corpus, read_table
from tf_transformer.errors import DataError

NUMBERS: dict[str, str | int] = {"source": 1, "target": 2}
NAMES: dict[str, str | int] = {"source": "en", "target": "fr"}


def _table(path: Path, content: str | bytes, columns: dict[str, str | int], skip: bool = False) -> Corpus:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, columns, on_bad_row="skip" if skip else "error")


def _pairs(corpus: Corpus) -> list[tuple[str, str]]:
    return list(zip(corpus.columns["source"], corpus.columns["target"], strict=True))


def test_tabs_know_no_quotes(tmp_path: Path) -> None:
    corpus = _table(tmp_path / "a.tsv", 'one "1"\t"un\r\n\'two\tdeux"\n', NUMBERS)
    assert _pairs(corpus) == [('one "1"', '"un'), ("'two", 'deux"')]


def test_columns_by_name_number_and_order(tmp_path: Path) -> None:
    table = "fr\tnote\ten \nun\tx\tone\ndeux\tx\ttwo\n"
    corpus = _table(tmp_path / "a.tsv", table, NAMES)
    assert _pairs(corpus) == [("one", "un"), ("two", "deux")] and corpus.lines.tolist() == [2, 3]
    assert _pairs(_table(tmp_path / "b.tsv", table, {"source": 3, "target": 1}))[1] == ("one", "un")
    packed = gzip.compress(b"en,fr\none,un\n")
    assert _pairs(_table(tmp_path / "c.csv.gz", packed, NAMES)) == [("one", "un")]


def test_ragged_rows_are_named_with_their_columns(tmp_path: Path) -> None:
    # The first row is ragged: most rows decide. Line 5 ends in a tab, which is tolerated; line 6 is blank.
    table = "a\tb\tc\none\tun\ntwo\nthree\t \nfour\tquatre\t\n\nfive\tcinq\n"
    rule = (
        r"a.tsv: 3 bad rows \(empty cell 1, number of columns 2\): line 1: 3 columns, not 2; "
        r"line 3: 1 column, not 2; line 4: column 2 \(target\) of 2 columns is empty"
    )
    with pytest.raises(DataError, match=rule):
        _table(tmp_path / "a.tsv", table, NUMBERS)
    corpus = _table(tmp_path / "a.tsv", table, NUMBERS, skip=True)
    assert _pairs(corpus) == [("one", "un"), ("four", "quatre"), ("five", "cinq")]
    assert corpus.lines.tolist() == [2, 5, 7]
    assert corpus.report.to_lines() == [
        "a.tsv: 7 rows read, 3 kept",
        "  dropped: blank line: 1 (line 6)",
        "  dropped: empty cell: 1 (line 4)",
        "  dropped: number of columns: 2 (lines 1, 3)",
    ]


def test_bad_bytes_go_before_ragged_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"2 bad rows .not utf-8 2.: line 2: .*0xFF.*line 3: byte 1"):
        _table(tmp_path / "a.tsv", b"a\tb\n\xff\n\xfe\nc\td\ne\tf\n", NUMBERS)


def test_csv_by_rfc_4180(tmp_path: Path) -> None:
    table = 'en,fr\r\n"a, ""b""\nc","d\r\n\r\ne"\r\n\r\nf;g,h"i\r\n'
    corpus = _table(tmp_path / "a.csv", table, NAMES)
    assert _pairs(corpus) == [('a, "b"\nc', "d\n\ne"), ("f;g", 'h"i')]
    assert corpus.lines.tolist() == [2, 7]  # a row may have several lines; line 6 is blank
    assert corpus.report.to_lines()[1:] == ["  dropped: blank line: 1 (line 6)"]


def test_csv_faults_are_named(tmp_path: Path) -> None:
    table = b'a,b\n"c"d,e\n"f\ng\xff",h\ni\rj,k\nl,\n'
    with pytest.raises(DataError, match=r"3 bad rows \(empty cell 1, not utf-8 1, quotes 1\): line 2: mis"):
        _table(tmp_path / "a.csv", table, NUMBERS)
    corpus = _table(tmp_path / "a.csv", table, NUMBERS, skip=True)
    assert _pairs(corpus) == [("a", "b"), ("i j", "k")] and corpus.lines.tolist() == [1, 5]


@pytest.mark.parametrize("rest", ["b\nc,d\n", "b" * 140_000 + "\nc,d\n"])
def test_a_quote_that_is_never_closed_stops_always(tmp_path: Path, rest: str) -> None:
    with pytest.raises(DataError, match="begins on line 2 has a quote that is never closed"):
        _table(tmp_path / "a.csv", 'a,b\n"' + rest, NUMBERS, skip=True)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("name", "header", "rule"),
    [
        ("a.tsv", b"en\tfr\tnote\xff", "line 2 is the header, and not utf-8: byte 11 of the line"),
        ("a.csv", b'en,fr,"note"x', "line 2 is the header, and quotes: misplaced quote"),
        ("a.csv", b"en,fr,no\0te", "line 2 is the header, and NUL character: character 9 is a NUL"),
    ],
)
def test_a_broken_header_stops_always(
    tmp_path: Path, name: str, header: bytes, rule: str, skip: bool
) -> None:
    with pytest.raises(DataError, match=rf"{name}: {rule}"):
        _table(tmp_path / name, b"\n" + header + b"\none,un,x\n", NAMES, skip=skip)


def test_an_endless_line_of_csv_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tf_transformer.data.lines.MAX_LINE_BYTES", 7)
    corpus = _table(tmp_path / "a.csv", "a,b\n" + "c" * 9 + "\n\nd,e\n", NUMBERS, skip=True)
    assert _pairs(corpus) == [("a", "b"), ("d", "e")]
    assert corpus.report.to_lines() == [
        "a.csv: 4 rows read, 2 kept",
        "  dropped: blank line: 1 (line 3)",
        "  dropped: line too long: 1 (line 2)",
    ]


def test_json_lines(tmp_path: Path) -> None:
    table = '{"fr": "un\\n1", "en": "one", "id": 3}\n\n{"en": "two", "fr": "de\\u0075x"}'
    corpus = _table(tmp_path / "a.jsonl", table, NAMES)
    assert _pairs(corpus) == [("one", "un\n1"), ("two", "deux")] and corpus.lines.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('{"en": "a"}', "key 'fr' is missing; the object has 'en'"),
        ('{"en": "a", "fr": 7}', "the value of 'fr' must be a string. Received: 7"),
        ('{"en": "a", "fr": null}', "the value of 'fr' must be a string. Received: null"),
        ('{"en": "a", "fr": "\\u200b "}', "the value of 'fr' is empty"),
        ('{"en": "a", "fr": "b", "fr": "c"}', "key 'fr' occurs twice"),
        ('{"en": "a", "fr": "\\ud800"}', "holds a NUL or half a surrogate pair"),
        ('{"en": "a", "fr": "\\u0000b"}', "holds a NUL or half a surrogate pair"),
        ('["a", "b"]', "a JSON object is needed. Received: list"),
        ('{"en": "a"', "Expecting ',' delimiter at character 11"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_json_faults_are_named(tmp_path: Path, line: str, rule: str) -> None:
    table = '{"en": "one", "fr": "un"}\n' + line + "\n"
    with pytest.raises(DataError, match=rf"1 bad row \(JSON 1\): line 2: .*{rule}"):
        _table(tmp_path / "a.jsonl", table, NAMES)
    assert len(_table(tmp_path / "a.jsonl", table, NAMES, skip=True)) == 1


@pytest.mark.parametrize(
    ("table", "columns", "rule"),
    [
        ("en\tfrr\na\tb\n", NAMES, r"no column 'fr' \(did you mean 'frr'\?\). Received: 'en', 'frr'"),
        ("en;fr\na;b\n", NAMES, "no column 'en'.*Received: 'en;fr'"),
        ("en\tfr\tfr\na\tb\tc\n", NAMES, "names column 'fr' more than once. Received: 'en', 'fr', 'fr'"),
        ("a\nb\n", NUMBERS, "the table has 1 columns. Received: column 2 for target"),
        ("en\tfr\n", NAMES, "the table has no rows"),
        ("", NAMES, "the file is empty"),
    ],
)
def test_missing_columns_are_refused(
    tmp_path: Path, table: str, columns: dict[str, str | int], rule: str
) -> None:
    with pytest.raises(DataError, match=rule):
        _table(tmp_path / "a.tsv", table, columns)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    rule = "`columns` must be all names, or all numbers from 1"
    bad: list[dict[str, str | int]] = [{}, {"source": 0}, {"source": True}, {"source": 1, "target": "fr"}]
    for columns in bad:
        with pytest.raises(ValueError, match=rule):
            _table(tmp_path / "a.tsv", "a\tb\n", columns)
    with pytest.raises(ValueError, match=r"name each column of the table once. Received: \[1, 1\]"):
        _table(tmp_path / "a.tsv", "a\tb\n", {"source": 1, "target": 1})
    with pytest.raises(ValueError, match=r"of JSON lines must be keys, not numbers. Received: \[1, 2\]"):
        _table(tmp_path / "a.jsonl", "{}", NUMBERS)
    with pytest.raises(DataError, match=r"a.txt: the name of a table must end in .tsv, .tab, .csv"):
        _table(tmp_path / "a.txt", "a\tb\n", NUMBERS)
