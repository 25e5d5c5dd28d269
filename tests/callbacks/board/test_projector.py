"""The vectors of tokens as TensorBoard's projector reads them."""

from pathlib import Path

import numpy as np

from tf_transformer.callbacks.board.projector import MOST_TOKENS, write_projector


def test_vectors_and_spellings_have_the_same_number_of_lines(tmp_path: Path) -> None:
    tokens = ["<pad>", "▁the", "\n", " ", "\t", "我", "\x00"]
    table = np.arange(14.0).reshape(7, 2) / 4
    write_projector(tmp_path, {"tokens": (table, tokens)})
    lines = (tmp_path / "tokens.tokens.tsv").read_text().split("\n")
    assert lines == ["<pad>", "▁the", "\\n", "' '", "\\t", "我", "\\x00", ""]
    assert (tmp_path / "tokens.vectors.tsv").read_text().split("\n")[:2] == ["0\t0.25", "0.5\t0.75"]
    assert (tmp_path / "projector_config.pbtxt").read_text() == (
        'embeddings {\n  tensor_name: "tokens"\n  tensor_path: "tokens.vectors.tsv"\n'
        '  metadata_path: "tokens.tokens.tsv"\n}\n'
    )


def test_a_large_vocabulary_is_cut_and_none_writes_nothing(tmp_path: Path) -> None:
    size = MOST_TOKENS + 1
    write_projector(tmp_path, {"tokens": (np.zeros((size, 1)), [str(place) for place in range(size)])})
    assert (tmp_path / "tokens.tokens.tsv").read_text().count("\n") == MOST_TOKENS
    write_projector(tmp_path / "other", {})
    assert not (tmp_path / "other").exists()
