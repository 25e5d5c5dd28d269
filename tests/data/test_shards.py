"""Shards: rows of ids in TFRecords, read back block by block, and refused where a byte is another."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from stored_rows import TYPES, rows

from tf_transformer.data.shards import BLOCK_ROWS, id_type, read_block, write_shard
from tf_transformer.errors import DataError


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shards") / "one.tfrecord"


def test_a_shard_is_read_back_block_by_block(path: Path) -> None:
    shard = write_shard(path, [rows(1030, 0), rows(7, 1030)], TYPES)
    assert shard.blocks["rows"].tolist() == [BLOCK_ROWS, 6, 7]
    assert shard.lines.tolist() == list(range(1, 1038))
    assert shard.lengths["source"].tolist() == [row % 3 + 1 for row in range(1037)]
    assert shard.content.size == path.stat().st_size
    found = read_block(path, shard.blocks[1], TYPES)
    assert found["target"][0].tolist() == list(range(1024, 1030))
    assert found["source"][1].tolist() == [2, 3, 1, 2, 3, 1]
    assert found["source"][0].tolist()[:5] == [1024, 1024, 1025, 1025, 1025]


def test_other_readers_of_tfrecords_read_it_too(path: Path) -> None:
    examples = [tf.train.Example.FromString(record.numpy()) for record in tf.data.TFRecordDataset(str(path))]
    raw = [example.features.feature["target/ids"].bytes_list.value[0] for example in examples]
    assert np.frombuffer(b"".join(raw), "<u4").tolist() == list(range(1037))


def test_a_changed_byte_is_found_and_named(path: Path, tmp_path: Path) -> None:
    shard = write_shard(tmp_path / "two.tfrecord", [rows(5, 0)], TYPES)
    content = bytearray((tmp_path / "two.tfrecord").read_bytes())
    content[40] ^= 1
    (tmp_path / "two.tfrecord").write_bytes(content)
    with pytest.raises(DataError, match=r"two.tfrecord: is damaged at byte 12: remove it, and prepare"):
        read_block(tmp_path / "two.tfrecord", shard.blocks[0], TYPES)
    with pytest.raises(DataError, match=r"gone.tfrecord: cannot be read \(No such file or directory\)"):
        read_block(tmp_path / "gone.tfrecord", shard.blocks[0], TYPES)


def test_nothing_is_left_of_a_shard_whose_rows_fail(tmp_path: Path) -> None:
    def broken() -> object:
        yield rows(3, 0)
        raise DataError("bad line")

    with pytest.raises(DataError, match="bad line"):
        write_shard(tmp_path / "three.tfrecord", broken(), TYPES)  # type: ignore[arg-type]
    assert [*tmp_path.iterdir()] == []


def test_ids_take_two_bytes_where_the_vocabulary_allows() -> None:
    assert (id_type(1 << 16), id_type((1 << 16) + 1)) == (np.dtype("<u2"), np.dtype("<u4"))
