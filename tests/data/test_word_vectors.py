"""Word vectors in text form: all dialects, and each malformed line by name."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from tf_transformer.data.word_vectors import read_word_vectors
from tf_transformer.errors import DataError


def written(folder: Path, text: str) -> Path:
    path = folder / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "cat 1 -2.5\ndog 0.5 1e-3\nhot dog 3 4\n",  # GloVe
        "3 2\ncat 1 -2.5 \ndog 0.5 1e-3 \nhot dog 3 4 \n",  # word2vec
    ],
)
def test_both_forms(tmp_path: Path, text: str) -> None:
    found = read_word_vectors(written(tmp_path, text), {"cat", "hot dog", "bird"})
    assert {word: vector.tolist() for word, vector in found.vectors.items()} == {
        "cat": [1.0, -2.5],
        "hot dog": [3.0, 4.0],
    }
    assert (found.dimensions, found.lines, found.repeated) == (2, 3, 0)
    assert found.vectors["cat"].dtype == np.float32


def test_the_first_of_two_counts(tmp_path: Path) -> None:
    found = read_word_vectors(written(tmp_path, "cat 1 2\ncat 3 4\ndog 1 1\ndog 2 2\n"), ["cat"])
    assert found.vectors["cat"].tolist() == [1.0, 2.0]
    assert found.repeated == 1


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress("größe 1 2\n".encode()))
    assert list(read_word_vectors(path, ["größe"]).vectors) == ["größe"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat 1 2\ndog 1\n", "line 2: must be a word and 2 finite numbers, .* Received: 'dog 1'"),
        ("cat 1 2\ndog 1 x\n", "line 2: must be a word and 2 finite numbers"),
        ("cat 1 2\ndog 1 nan\n", "line 2: must be a word and 2 finite numbers"),
        ("cat 1 2\n\nbird 1 2\n", "line 2: must be a word and 2 finite numbers, .* Received: ''"),
        ("cat 1 2\n 3 4\n", "line 2: must be a word"),
        ("cat\n", "line 1: must be a word and its numbers, .* Received: 'cat'"),
        ("2 2\ncat 1 2 3\n", "line 2: .*|line 1: says 2 words, and the file has 1: it is cut or damaged"),
        ("3 2\ncat 1 2\n", "line 1: says 3 words, and the file has 1: it is cut or damaged"),
        ("", "the file is empty"),
    ],
)
def test_what_is_malformed(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"vectors\.txt.*{message}"):
        read_word_vectors(written(tmp_path, text), ["cat"])


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"cat 1 2\n\xff\xfe 1 2\n")
    with pytest.raises(DataError, match=r"vectors\.txt, line 2: byte 1 of the line .* is not utf-8"):
        read_word_vectors(path, ["cat"])
