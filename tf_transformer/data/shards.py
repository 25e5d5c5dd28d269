"""Rows of ids in files: TFRecords of a thousand rows each, with checksums, and where each of them begins.

A record is a `tf.train.Example`. Of each column it has `<column>/ids`, all ids one after the other, and
`<column>/sizes`, how many each row has; and `lines`, the rows' numbers in their file. All are raw bytes in
little-endian order, ids of two bytes where a vocabulary allows, sizes of four and lines of eight.
"""

import errno
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import tensorflow as tf

from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.errors import DataError
from tf_transformer.files import Fingerprint, fingerprint, sync_folder

BLOCK_ROWS: Final = 1024
"""Rows of a record: what is read from a disk at a time, and stays together when rows are shuffled."""
BLOCK: Final = np.dtype(
    [("shard", "<u4"), ("offset", "<u8"), ("size", "<u4"), ("crc", "<u4"), ("rows", "<u4")]
)
"""Where a record lies: shard, first byte of its content, its bytes, CRC-32 of them, its rows."""
_BEFORE, _BEHIND = 12, 4
"""Bytes that a TFRecord file has around each record: its length and two checksums."""


Ids = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Shard:
    """What was written into one file.

    Attributes:
        blocks: Its records, of type `BLOCK`.
        lengths: For each column the positions that each row takes.
        lines: The rows' line numbers.
        content: Size and SHA-256 of the file.
    """

    blocks: np.ndarray[Any, Any]
    lengths: dict[str, Ids]
    lines: Ids
    content: Fingerprint


def id_type(vocabulary_size: int) -> np.dtype[Any]:
    """How ids of a vocabulary are stored."""
    return np.dtype("<u2" if vocabulary_size <= 1 << 16 else "<u4")


def write_shard(path: Path, parts: Iterable[EncodedCorpus], types: Mapping[str, np.dtype[Any]]) -> Shard:
    """Write the rows of a corpus into a file, which is there whole or not at all.

    Args:
        path: The file.
        parts: The rows, part by part; all columns are ragged ids.
        types: For each column how its ids are stored.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.writing")
    blocks: list[tuple[int, ...]] = []
    lengths: dict[str, list[Ids]] = {name: [np.zeros(0, np.int64)] for name in types}
    lines: list[Ids] = [np.zeros(0, np.int64)]
    offset = 0
    try:
        with tf.io.TFRecordWriter(os.fspath(aside)) as writer:
            for part in parts:
                lines.append(part.lines)
                for name in types:
                    lengths[name].append(part.lengths[name])
                for content, rows in _records(part, types):
                    writer.write(content)
                    blocks.append((0, offset + _BEFORE, len(content), zlib.crc32(content), rows))
                    offset += _BEFORE + len(content) + _BEHIND
        written = fingerprint(aside)
        if written.size != offset:
            raise OSError(errno.EIO, f"{written.size:,} bytes are there of {offset:,} written", str(path))
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.replace(path)
    except tf.errors.OpError as error:
        raise OSError(errno.EIO, str(error).splitlines()[0], str(path)) from None
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(path.parent)
    joined = {name: np.concatenate(found) for name, found in lengths.items()}
    return Shard(np.array(blocks, BLOCK), joined, np.concatenate(lines), written)


def _records(part: EncodedCorpus, types: Mapping[str, np.dtype[Any]]) -> Iterator[tuple[bytes, int]]:
    """The records of some rows, and how many rows each has."""
    ragged = {name: part.columns[name] for name in types}
    columns = {name: (ids.flat_values.numpy(), ids.row_splits.numpy()) for name, ids in ragged.items()}
    for start in range(0, len(part), BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, len(part)))
        yield _record(columns, part.lines, rows, types), rows.stop - start


def _record(
    columns: Mapping[str, tuple[Ids, Ids]], lines: Ids, rows: slice, types: Mapping[str, np.dtype[Any]]
) -> bytes:
    parts = {"lines": lines[rows].astype("<u8")}
    for name, (values, splits) in columns.items():
        ends = splits[rows.start : rows.stop + 1]
        parts[f"{name}/ids"] = values[ends[0] : ends[-1]].astype(types[name])
        parts[f"{name}/sizes"] = np.diff(ends).astype("<u4")
    features = {
        name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[array.tobytes()]))
        for name, array in parts.items()
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    # The features in the same order whoever writes them: equal rows, equal files.
    content: bytes = example.SerializeToString(deterministic=True)
    return content


def read_block(
    path: Path, block: np.ndarray[Any, Any], types: Mapping[str, np.dtype[Any]]
) -> dict[str, tuple[Ids, Ids]]:
    """Read one record.

    Args:
        path: The file of the block's shard.
        block: A scalar of type `BLOCK`.
        types: For each column how its ids are stored.

    Returns:
        For each column its ids one after the other, and how many each row has.

    Raises:
        DataError: The file is missing, or has other bytes there than were written; names both.
    """
    offset, size = int(block["offset"]), int(block["size"])
    try:
        with path.open("rb") as file:
            file.seek(offset)
            content = file.read(size)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}): prepare the data again") from None
    if zlib.crc32(content) != int(block["crc"]):
        raise DataError(f"{path}: is damaged at byte {offset}: remove it, and prepare the data again")
    features = tf.train.Example.FromString(content).features.feature
    return {
        name: (
            np.frombuffer(features[f"{name}/ids"].bytes_list.value[0], kind),
            np.frombuffer(features[f"{name}/sizes"].bytes_list.value[0], "<u4"),
        )
        for name, kind in types.items()
    }


def shard_names(count: int) -> Sequence[str]:
    """The names of so many shards, in order."""
    width = max(5, len(str(count)))
    return [f"{number:0{width}d}-of-{count:0{width}d}.tfrecord" for number in range(count)]
