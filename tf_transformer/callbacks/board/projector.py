"""TensorBoard's Projector: the vectors of tokens, each with its spelling."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.files import write_text

MOST_TOKENS = 2_000
"""Vectors that are shown, at most: the first ids, which are the most frequent pieces."""
CONFIG = "projector_config.pbtxt"

Embeddings = Callable[[], Mapping[str, tuple[Any, Sequence[str]]]]
"""Gives tables ``[tokens, width]`` by name, each with the spellings of its rows."""


def write_projector(folder: Path, embeddings: Mapping[str, tuple[Any, Sequence[str]]]) -> None:
    """Writes the vectors as they are now in place of those that were.

    Args:
        folder: A run of TensorBoard, that has event files.
        embeddings: Tables by name, with spellings.

    Raises:
        OSError: When the disk takes no more.
    """
    entries = []
    for name, (table, tokens) in embeddings.items():
        vectors = np.asarray(table[:MOST_TOKENS], np.float32)
        rows = ("\t".join(f"{number:.4g}" for number in row) for row in vectors.tolist())
        write_text(folder / f"{name}.vectors.tsv", "\n".join(rows) + "\n")
        labels = [_label(token) for token in tokens[: len(vectors)]]
        write_text(folder / f"{name}.tokens.tsv", "\n".join(labels) + "\n")
        entries.append(
            f'embeddings {{\n  tensor_name: "{name}"\n  tensor_path: "{name}.vectors.tsv"\n'
            f'  metadata_path: "{name}.tokens.tsv"\n}}\n'
        )
    if entries:
        write_text(folder / CONFIG, "".join(entries))


def _label(token: str) -> str:
    """A token's spelling as a line of a table; what cannot be seen is written out."""
    if token.strip() and token.isprintable():
        return token
    return token.encode("unicode_escape").decode() if token.strip(" ") else f"{token!r}"
