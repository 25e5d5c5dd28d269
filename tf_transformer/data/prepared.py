"""Prepared data: an encoded corpus of any size whose ids stay in files until they are asked for."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import tensorflow as tf

from tf_transformer.data.encoding import EncodedCorpus, IntArray
from tf_transformer.data.report import CorpusReport
from tf_transformer.data.sampled_plan import Ids
from tf_transformer.data.shards import BLOCK, read_block
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import DataError
from tf_transformer.files import parse_json

INDEX: Final = "index.json"
SHARDS, TOKENIZER, CARVED = "shards", "tokenizer", "dev.jsonl"
FORMAT: Final = 1
BLOCKS, LINES = "blocks.npy", "lines.npy"
_COPIES = 3
"""Pools that are in memory at a time: one in use, one ready, one being made."""
_PLANNING = 200
"""Bytes that planning takes for each row of a pool, in round numbers."""


def lengths_file(column: str) -> str:
    """Where the positions that each row of a column takes are."""
    return f"lengths-{column}.npy"


def pieces_digest(pieces: Sequence[str]) -> str:
    """What tells one vocabulary from another."""
    return hashlib.sha256("\n".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class StoredColumn:
    """Ids of a column that are in files."""

    corpus: "PreparedCorpus"
    name: str

    def gather(self, rows: IntArray) -> tf.RaggedTensor:
        """The ids of some rows, ragged int32 `[rows, None]`."""
        places = np.searchsorted(self.corpus.first_rows, rows, side="right") - 1
        blocks, where = np.unique(places, return_inverse=True)
        values, splits = self.corpus.read(blocks)[self.name]
        starts = np.concatenate([[0], np.cumsum(self.corpus.blocks["rows"][blocks].astype(np.int64))])
        local = starts[where] + np.asarray(rows) - self.corpus.first_rows[places]
        return tf.gather(tf.RaggedTensor.from_row_splits(values, splits, validate=False), local)


@dataclass(frozen=True)
class PreparedCorpus(EncodedCorpus):
    """An encoded corpus in files; what `EncodedCorpus` has of each row is read when it is looked at.

    Attributes:
        folder: Where it lies.
        index: What is known of it, as written when it was finished.
        blocks: Its records in order, of type `BLOCK`.
        first_rows: The first row of each of them, and behind the last the number of rows.
    """

    folder: Path = Path()
    index: Mapping[str, Any] = field(default_factory=dict)
    blocks: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0, BLOCK))
    first_rows: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))

    def __post_init__(self) -> None:
        self.columns.update({name: StoredColumn(self, name) for name in self.lengths})

    @classmethod
    def open(cls, path: Path) -> "PreparedCorpus":
        """Reads what is needed to plan with: nothing of the ids.

        Args:
            path: The index of prepared data.

        Raises:
            DataError: There is none, or it is damaged.
        """
        index, folder = read_index(path), path.parent
        names = list(index["columns"])
        sizes = [corpus["rows"] for corpus in index["corpora"]]
        blocks = np.asarray(_array(folder, BLOCKS, None))
        corpus = cls(
            columns={},
            lengths={name: _array(folder, lengths_file(name), index["rows"]) for name in names},
            corpora=_places(sizes),
            lines=_array(folder, LINES, index["rows"]),
            reports=tuple(CorpusReport.from_dict(corpus["report"]) for corpus in index["corpora"]),
            folder=folder,
            index=index,
            blocks=blocks,
            first_rows=np.concatenate([[0], np.cumsum(blocks["rows"].astype(np.int64))]),
        )
        if int(corpus.first_rows[-1]) != index["rows"]:
            raise DataError(f"{folder / BLOCKS}: is of other data than {path}: prepare it again")
        return corpus

    @property
    def sizes(self) -> list[int]:
        """How many rows each corpus has."""
        return [corpus["rows"] for corpus in self.index["corpora"]]

    @property
    def corpus_of_block(self) -> IntArray:
        """For each block the number of its corpus; no block is of two."""
        shards = np.array([shard["corpus"] for shard in self.index["shards"]], np.int64)
        found: IntArray = shards[self.blocks["shard"]]
        return found

    def positions(self, column: str) -> list[int]:
        """The positions that all rows of each corpus take."""
        return [corpus["positions"][column] for corpus in self.index["corpora"]]

    def rows_in(self, memory: int) -> int:
        """How many rows of usual length can be shuffled together in so many bytes."""
        ids = sum(column["ids"] for column in self.index["columns"].values()) / max(len(self), 1)
        one = 4 * ids + 16 * len(self.lengths)
        return max(int(memory / (_COPIES * one + _PLANNING)), 1)

    def read(self, blocks: Sequence[int] | IntArray) -> dict[str, Ids]:
        """The ids of some blocks, one behind the other.

        Returns:
            For each column its ids, int32, and where each row begins and ends, int64 `[rows + 1]`.

        Raises:
            DataError: A file is missing or damaged.
        """
        types = {name: np.dtype(column["type"]) for name, column in self.index["columns"].items()}
        parts: dict[str, list[tuple[Any, Any]]] = {name: [] for name in types}
        for block in self.blocks[np.asarray(blocks, np.int64)]:
            path = self.folder / SHARDS / self.index["shards"][int(block["shard"])]["file"]
            for name, part in read_block(path, block, types).items():
                parts[name].append(part)
        return {name: _joined(found) for name, found in parts.items()}

    def carved(self) -> list[Corpus]:
        """What was set apart for dev, by corpus.

        Raises:
            DataError: It is missing or damaged.
        """
        path = self.folder / CARVED
        columns: list[dict[str, list[str]]] = [{} for _ in self.sizes]
        lines: list[list[int]] = [[] for _ in self.sizes]
        try:
            with path.open(encoding="utf-8") as file:
                for row in map(json.loads, file):
                    lines[row["corpus"]].append(row["line"])
                    for name, text in row["columns"].items():
                        columns[row["corpus"]].setdefault(name, []).append(text)
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise DataError(f"{path}: cannot be read ({error}): prepare the data again") from None
        corpora = zip(columns, lines, self.reports, strict=True)
        return [
            Corpus(
                texts,
                np.array(numbers, np.int64),
                report.name,
                (path,),
                CorpusReport(report.name, len(numbers)),
            )
            for texts, numbers, report in corpora
            if numbers
        ]


def read_index(path: Path) -> dict[str, Any]:
    """The index of prepared data.

    Raises:
        DataError: There is none, or it is broken, or another version wrote it.
    """
    try:
        index = parse_json(path.read_bytes())
        found = index["format"], len(index["columns"]), len(index["corpora"]), len(index["shards"])
    except FileNotFoundError:
        raise DataError(
            f"{path}: there is no prepared data; `tf-transformer prepare RECIPE` makes it"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: is broken ({error}): prepare the data again") from None
    if found[0] != FORMAT:
        raise DataError(
            f"{path}: has format {found[0]}, and this version reads {FORMAT}: prepare the data again"
        )
    return dict(index)


def _array(folder: Path, name: str, rows: int | None) -> Any:
    """An array that stays in its file; its pages are in memory only while somebody looks at them."""
    try:
        array = np.load(folder / name, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{folder / name}: cannot be read ({error}): prepare the data again") from None
    if rows is not None and len(array) != rows:
        raise DataError(f"{folder / name}: has {len(array):,} rows, not {rows:,}: prepare the data again")
    return array


def _places(sizes: Collection[int]) -> Any:
    """For each row the number of its corpus, in as little memory as that takes."""
    if len(sizes) == 1:
        return np.broadcast_to(np.zeros(1, np.uint8), (sum(sizes),))
    return np.repeat(np.arange(len(sizes), dtype=np.min_scalar_type(len(sizes))), list(sizes))


def _joined(parts: Sequence[tuple[Any, Any]]) -> Ids:
    """Ids of several blocks as one array, made once."""
    sizes = np.concatenate([np.zeros(1, np.int64), *(sizes for _, sizes in parts)])
    splits = np.cumsum(sizes)
    values, at = np.empty(int(splits[-1]), np.int32), 0
    for ids, _ in parts:
        values[at : at + len(ids)] = ids
        at += len(ids)
    return values, splits
