"""Labelled sequences of vectors from folders, lists and arrays."""

from pathlib import Path

import numpy as np
import pytest

from tf_transformer.data.vectors import read_vector_arrays, read_vector_folder, read_vector_list
from tf_transformer.errors import DataError

SHORT = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
LONG = np.arange(6, dtype="float64").reshape(3, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for label, name in (("walk", "a.npy"), ("run", "b.npy")):
        (tmp_path / label).mkdir()
        np.save(tmp_path / label / name, SHORT if label == "walk" else LONG)
    (tmp_path / "run" / "c.csv").write_text("left,right\n5,6\n")
    return tmp_path


def test_a_folder_holds_arrays_and_tables(folder: Path) -> None:
    corpus = read_vector_folder(folder)
    assert corpus.labels == ["run", "run", "walk"] and corpus.places == [
        "run/b.npy",
        "run/c.csv",
        "walk/a.npy",
    ]
    assert [sequence.tolist() for sequence in corpus.inputs] == [LONG.tolist(), [[5.0, 6.0]], SHORT.tolist()]
    assert {sequence.dtype.name for sequence in corpus.inputs} == {"float32"}
    assert corpus.select(np.array([2])).inputs[0].tolist() == SHORT.tolist()


def test_a_list_names_files_beside_it(folder: Path) -> None:
    table = folder / "list.tsv"
    table.write_text("file\tlabel\nwalk/a.npy\tslow\nrun/c.csv\tfast\n")
    corpus = read_vector_list(table)
    assert corpus.labels == ["slow", "fast"] and [len(sequence) for sequence in corpus.inputs] == [2, 1]
    assert corpus.places == ["walk/a.npy", "run/c.csv"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("d.npy", b"hello", r"run/d.npy cannot be read as .npy"),
        ("d.npy", np.ones((2, 3)), r"run/d.npy has 3 features, and all must have 2"),
        ("d.npy", np.array([[1.0, 2.0], [np.inf, 3.0]]), r"run/d.npy has a number .*not finite in vector 2"),
        ("d.npy", np.ones((0, 2)), r"run/d.npy must be numbers .*Received: float64 \[0, 2\]"),
        ("d.npy", np.array(["a", "b"]), r"run/d.npy must be numbers .*Received: <U1 \[2, 1\]"),
        ("d.csv", b"1,2\n3,x\n", r"run/d.csv line 2 has no number in column 2: 'x'"),
        ("d.csv", b"1,2\n3,4\n5\n", r"run/d.csv line 3 has 1 column, and all must have 2"),
        ("d.csv", b"", r"run/d.csv the table has no rows"),
        ("d.wav", b"RIFF", r"run/d.wav the name of a table must end in"),
    ],
)  # fmt: skip
def test_a_bad_file_is_named(folder: Path, name: str, content: object, said: str) -> None:
    if isinstance(content, bytes):
        (folder / "run" / name).write_bytes(content)
    else:
        np.save(folder / "run" / name, content)
    with pytest.raises(DataError, match=rf"1 example of 4 cannot be used: {said}"):
        read_vector_folder(folder)
    assert len(read_vector_folder(folder, on_bad_row="skip")) == 3


def test_a_missing_file_of_a_list_is_named(folder: Path) -> None:
    table = folder / "list.csv"
    table.write_text("file,label\nrun/b.npy,fast\nrun/q.npy,fast\n")
    with pytest.raises(DataError, match=r"1 example of 2 cannot be used: run/q.npy there is no such file"):
        read_vector_list(table)


def test_one_number_a_moment_is_one_feature(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", vectors=np.array([[1, 2, 3], [4, 5, 0]]), labels=["a", "b"], sizes=[3, 2])
    corpus = read_vector_arrays(tmp_path / "x.npz", lengths="sizes")
    assert [sequence.tolist() for sequence in corpus.inputs] == [[[1.0], [2.0], [3.0]], [[4.0], [5.0]]]


def test_bad_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, vectors=np.ones((2, 3, 1)), labels=["a", "b"], sizes=[3, 4], zero=[3, 0], flat=np.ones(2))
    with pytest.raises(
        DataError, match=r"sizes must be whole numbers from 0 to 3, .*Received: int64 \[2\] from 3 to 4"
    ):
        read_vector_arrays(path, lengths="sizes")
    with pytest.raises(DataError, match=r"1 example of 2 cannot be used: row 2 has no vector"):
        read_vector_arrays(path, lengths="zero")
    with pytest.raises(DataError, match=r"flat must be numbers \[rows, vectors, features\]"):
        read_vector_arrays(path, vectors="flat")
