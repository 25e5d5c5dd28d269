"""Files in parts: the parts that are read one by one are the whole file, line numbers included."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.data.sources import read_parallel, read_table
from tf_transformer.data.spans import cut, survey
from tf_transformer.errors import DataError

LINES = [f"line {number} ä" if number % 7 else "" for number in range(1, 1501)]


def parts_of(files: dict[str, Path], rows: int, encoding: str = "utf-8") -> list[Any]:
    spans = cut({name: survey(path, encoding) for name, path in files.items()}, rows)
    return [read_parallel(files, encoding=encoding, spans=part) for part in spans]


@pytest.mark.parametrize(
    ("name", "encoding", "end", "last"),
    [
        ("a.txt", "utf-8", "\n", "\n"),
        ("a.txt", "utf-8", "\r\n", ""),
        ("a.txt", "utf-8-sig", "\n", "\n"),
        ("a.txt", "latin-1", "\n", "\n"),
        ("a.txt", "utf-16-le", "\n", ""),
        ("a.txt.gz", "utf-8", "\n", "\n"),
    ],
)
def test_parts_of_parallel_files_are_the_whole(
    tmp_path: Path, name: str, encoding: str, end: str, last: str
) -> None:
    content = (end.join(LINES) + last).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    (tmp_path / "b.txt").write_bytes("\n".join(LINES).replace("line", "Zeile").encode(encoding))
    files = {"source": tmp_path / name, "target": tmp_path / "b.txt"}
    whole, parts = read_parallel(files, encoding=encoding), parts_of(files, 300, encoding)
    # Cut at the first multiple of 256 lines that gives 300.
    assert [len(part) for part in parts] == [512, 512, 476]
    for column, texts in whole.columns.items():
        assert [text for part in parts for text in part.columns[column]] == texts
    np.testing.assert_array_equal(np.concatenate([part.lines for part in parts]), whole.lines)


def test_a_bad_line_has_its_number_and_its_byte_in_the_file(tmp_path: Path) -> None:
    lines = [b"good"] * 600
    lines[520] = b"b\xffd"
    (tmp_path / "a.txt").write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=r"line 521: byte 2 of the line \(byte 2602 of the file\)"):
        parts_of({"source": tmp_path / "a.txt"}, 256)


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".jsonl", ".csv.gz"])
def test_parts_of_a_table_are_the_whole(tmp_path: Path, ending: str) -> None:
    if ending == ".tsv":
        rows = ["a\tb", *(f"{n} x\t{n} y" for n in range(900)), "", "last\tone"]
    elif ending == ".jsonl":
        rows = [f'{{"a": "{n} x", "b": "{n} y"}}' for n in range(900)]
    else:  # a row of three lines where a cut would come: it is behind the row
        rows = ["a,b", *(f'{n} x,"{n} ""y"""' for n in range(254)), '"one\ntwo\nthree",y', *["u,v"] * 700]
    path = tmp_path / f"t{ending}"
    content = "\n".join(rows).encode()
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    columns = {"source": "a", "target": "b"}
    found = survey(path, "utf-8", has_header=ending != ".jsonl", is_csv=".csv" in ending)
    parts = [read_table(path, columns, span=part["table"]) for part in cut({"table": found}, 256)]
    whole = read_table(path, columns)
    assert len(parts) > 2
    for column, texts in whole.columns.items():
        assert [text for part in parts for text in part.columns[column]] == texts
    np.testing.assert_array_equal(np.concatenate([part.lines for part in parts]), whole.lines)
    assert sum(part.report.read for part in parts) == whole.report.read


def test_files_of_different_length_and_empty_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n")
    (tmp_path / "b.txt").write_text("1\n2\n3")
    (tmp_path / "c.txt").write_text("")
    with pytest.raises(DataError, match=r"equal numbers of lines. Received: .*a.txt has 2, .*b.txt has 3"):
        parts_of({"source": tmp_path / "a.txt", "target": tmp_path / "b.txt"}, 256)
    with pytest.raises(DataError, match=r"c.txt: the file has no rows"):
        survey(tmp_path / "c.txt", "utf-8")
