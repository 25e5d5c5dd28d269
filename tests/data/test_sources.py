"""Corpora from parallel files: aligned or refused."""

from pathlib import Path

import numpy as np
import pytest

from tf_transformer.data.sources import read_parallel
from tf_transformer.errors import DataError


def _write(folder: Path, **contents: bytes) -> dict[str, Path]:
    files = {}
    for name, content in contents.items():
        files[name] = folder / f"train.{name}"
        files[name].write_bytes(content)
    return files


def test_lines_stay_aligned(tmp_path: Path) -> None:
    files = _write(tmp_path, source=b"one\r\n\r\nthree", target="un\n\ntrois \u2028 \n".encode())
    corpus = read_parallel(files)
    assert corpus.columns == {"source": ["one", "", "three"], "target": ["un", "", "trois \u2028 "]}
    assert corpus.lines.tolist() == [1, 2, 3] and len(corpus) == 3
    assert corpus.files == (files["source"], files["target"])
    assert corpus.report.to_lines() == ["train.source: 3 rows read, 3 kept"]
    assert read_parallel(files, name="books").name == "books"


def test_rows_are_selected_with_their_lines(tmp_path: Path) -> None:
    corpus = read_parallel(_write(tmp_path, source=b"a\nb\nc\n", target=b"A\nB\nC\n"))
    chosen = corpus.select(np.array([2, 0]))
    assert chosen.columns == {"source": ["c", "a"], "target": ["C", "A"]}
    assert chosen.lines.tolist() == [3, 1]


def test_unequal_counts_are_refused(tmp_path: Path) -> None:
    files = _write(tmp_path, source=b"a\nb\nc\n", target=b"A\nB\n")
    with pytest.raises(DataError, match=r"equal numbers of lines.*train.source has 3, .*train.target has 2"):
        read_parallel(files, on_bad_row="skip")


def test_bad_rows_stop_or_are_skipped_on_both_sides(tmp_path: Path) -> None:
    files = _write(tmp_path, source=b"a\nb\xff\nc\nd\n", target=b"A\nB\nC\0\nD\xfe\n")
    rule = r"train.source: 1 bad row \(not utf-8 1\): line 2: byte 2 of the line .*Received: 0xFF. .*'skip'"
    with pytest.raises(DataError, match=rule):
        read_parallel(files)
    corpus = read_parallel(files, on_bad_row="skip")
    assert corpus.columns == {"source": ["a"], "target": ["A"]}
    assert corpus.report.to_lines() == [
        "train.source: 4 rows read, 1 kept",
        "  dropped: NUL character (target): 1 (line 3)",
        "  dropped: not utf-8 (source): 1 (line 2)",
        "  dropped: not utf-8 (target): 1 (line 4)",
    ]


def test_many_bad_rows_are_one_line(tmp_path: Path) -> None:
    files = _write(tmp_path, source=b"\xff\n" * 7, target=b"A\n" * 7)
    with pytest.raises(DataError, match=r"7 bad rows \(not utf-8 7\): line 1: .*line 5: .* further") as e:
        read_parallel(files)
    assert "\n" not in str(e.value) and "line 6" not in str(e.value)
    with pytest.raises(DataError, match=r"no row can be used: 7 bad \(not utf-8 \(source\)\)"):
        read_parallel(files, on_bad_row="skip")


def test_each_column_may_have_its_encoding(tmp_path: Path) -> None:
    files = _write(tmp_path, source="ä\n".encode(), target="ö\n".encode("latin-1"))
    corpus = read_parallel(files, encoding={"target": "latin-1"})
    assert corpus.columns == {"source": ["ä"], "target": ["ö"]}


def test_empty_files_and_files_given_twice_are_refused(tmp_path: Path) -> None:
    files = _write(tmp_path, source=b"a\n", target=b"")
    with pytest.raises(DataError, match=r"train.target: the file is empty: there are no pairs to read"):
        read_parallel(files)
    link = tmp_path / "link"
    link.symlink_to(files["source"])
    with pytest.raises(DataError, match="link: the same file is given as source and as target"):
        read_parallel({"source": files["source"], "target": link})


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    files = _write(tmp_path, source=b"a\n", target=b"A\n")
    with pytest.raises(ValueError, match=r"`on_bad_row` must be 'error' or 'skip'. Received: 'warn'"):
        read_parallel(files, on_bad_row="warn")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`files` must name one file for each column. Received: none"):
        read_parallel({})
    for wrong in ("utf-9", None, 5):
        with pytest.raises(ValueError, match=r"text encoding.*Received: "):
            read_parallel(files, encoding=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`encoding` must be for columns of \['source', 't.*\['tgt'\]"):
        read_parallel(files, encoding={"tgt": "latin-1"})


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    files = _write(tmp_path, source=b"a\n")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for name, rule in (("a\0b", "no such file"), ("b" * 5000, "cannot be read"), (loop, "cannot be read")):
        with pytest.raises(DataError, match=rule):
            read_parallel({**files, "target": name})
