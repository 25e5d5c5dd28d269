"""Plans of corpora that stay in files: each row once an epoch, the same from any place, in bounded pools."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from stored_rows import TYPES, rows

from tf_transformer.data.batching import BatchPlan
from tf_transformer.data.pipeline import Position, training_dataset
from tf_transformer.data.plan_arguments import tempered
from tf_transformer.data.prepared import PreparedCorpus
from tf_transformer.data.report import CorpusReport
from tf_transformer.data.shards import BLOCK, write_shard
from tf_transformer.data.streamed_plan import StreamedPlan

SIZES = (5003, 2003)
TOTAL = sum(SIZES)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    """Two corpora; row r has r % 3 + 1 source ids, all of them r, and a START or END beside target id r."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "shards").mkdir()
    shards = [
        write_shard(folder / "shards" / f"{at}.tfrecord", [rows(size, first)], TYPES)
        for at, (size, first) in enumerate(zip(SIZES, (0, SIZES[0]), strict=True))
    ]
    blocks = np.concatenate([shard.blocks for shard in shards]).astype(BLOCK)
    blocks["shard"] = [0] * len(shards[0].blocks) + [1] * len(shards[1].blocks)
    index: dict[str, Any] = {
        "columns": {
            "source": {"type": "<u2", "ids": 2 * TOTAL},
            "target": {"type": "<u4", "ids": TOTAL},
        },
        "corpora": [{"rows": size, "positions": {"target": 2 * size}} for size in SIZES],
        "shards": [{"file": f"{at}.tfrecord", "corpus": at} for at in range(2)],
        "arrays": {"blocks.npy": "digest"},
    }
    return PreparedCorpus(
        columns={},
        lengths={name: np.concatenate([shard.lengths[name] for shard in shards]) for name in TYPES},
        corpora=np.repeat([0, 1], SIZES),
        lines=np.concatenate([shard.lines for shard in shards]),
        reports=tuple(CorpusReport(name, size) for name, size in zip("ab", SIZES, strict=True)),
        folder=folder,
        index=index,
        blocks=blocks,
        first_rows=np.concatenate([[0], np.cumsum(blocks["rows"].astype(np.int64))]),
    )


def rows_of(plan: StreamedPlan, epoch: int) -> list[int]:
    return [row for batch in plan.epoch(epoch) for row in batch.rows.tolist()]


def pooled(corpus: PreparedCorpus, pools: int = 4, **options: Any) -> StreamedPlan:
    """A plan of so many pools: memory for a share of the rows."""
    memory = next(m for m in range(1000, 10**7, 1000) if corpus.rows_in(m) >= TOTAL / pools)
    return StreamedPlan(corpus, 500, memory=memory, seed=3, **options)


def test_what_fits_into_memory_has_the_batches_of_a_batch_plan(corpus: PreparedCorpus) -> None:
    options: dict[str, Any] = {"seed": 3, "weights": [1.0, 0.5]}
    streamed = StreamedPlan(corpus, 500, memory=1 << 30, **options)
    plain = BatchPlan(corpus.lengths, 500, corpora=corpus.corpora, **options)
    assert streamed.digest() == plain.digest()
    for epoch in (0, 1):
        for ours, theirs in zip(streamed.epoch(epoch), plain.epoch(epoch), strict=True):
            assert ours.rows.tolist() == theirs.rows.tolist() and ours.lengths == theirs.lengths


def test_every_row_comes_once_an_epoch_and_in_another_order(corpus: PreparedCorpus) -> None:
    plan = pooled(corpus)
    first, second = rows_of(plan, 0), rows_of(plan, 1)
    assert sorted(first) == sorted(second) == list(range(TOTAL))
    assert first != second and first == rows_of(pooled(corpus), 0)
    assert plan.num_batches(0) == len(plan.epoch(0))
    assert all(batch.tokens <= 500 for batch in plan.epoch(0))
    # Memory: no pool has more rows than were asked for, and a block.
    for pool in range(4):
        assert sum(len(batch.rows) for batch in plan.batches_of(pool)) <= TOTAL / 4 + 1024


def test_a_weight_takes_blocks_so_often(corpus: PreparedCorpus) -> None:
    plan = pooled(corpus, weights=[1.0, 2.0])
    found = np.bincount(rows_of(plan, 0), minlength=TOTAL)
    assert set(found[: SIZES[0]]) == {1} and set(found[SIZES[0] :]) == {2}
    half = pooled(corpus, weights=[0.2, 1.0])  # of five blocks one an epoch, another each time
    taken = sum(np.bincount(rows_of(half, epoch), minlength=TOTAL) for epoch in range(5))
    assert set(taken[: SIZES[0]]) == {1}


def test_batches_hold_the_ids_of_their_rows_from_any_place(corpus: PreparedCorpus) -> None:
    plan = pooled(corpus)
    count = plan.num_batches(0)

    def assemble(source_ids: Any, target_ids: Any, source_length: Any, target_length: Any) -> Any:
        return source_ids.to_tensor(), target_ids.flat_values, source_length

    def taken(start: Position, batches: int) -> list[Any]:
        return [*training_dataset(corpus, plan, assemble, start).take(batches).as_numpy_iterator()]

    whole = taken(Position(0, 0), count + 3)
    for (source, target, length), batch in zip(whole, [*plan.epoch(0), *plan.epoch(1)[:3]], strict=False):
        assert target.tolist() == batch.rows.tolist() and length == batch.lengths["source"]
        assert source[:, 0].tolist() == batch.rows.tolist()
    for place in (1, count // 2, count - 1):
        for ours, theirs in zip(taken(Position(0, place), 3), whole[place:], strict=False):
            np.testing.assert_array_equal(ours[1], theirs[1])
            np.testing.assert_array_equal(ours[0], theirs[0])


def test_rows_are_gathered_from_their_blocks_alone(corpus: PreparedCorpus) -> None:
    wanted = np.array([6001, 3, 5002, 5003, 1024])
    found = corpus.columns["target"].gather(wanted)
    assert isinstance(found, tf.RaggedTensor) and found.flat_values.numpy().tolist() == wanted.tolist()
    assert corpus.where([5002, 5003]) == ["a:5003", "b:5004"]


@pytest.mark.parametrize(
    ("temperature", "shares"),
    [(1.0, [0.9, 0.1]), (2.0, [0.75, 0.25]), (100.0, [0.505, 0.495])],
)
def test_temperature_evens_shares_out_and_keeps_the_epoch(temperature: float, shares: list[float]) -> None:
    # 900 and 100 rows: at 2, the roots are 30 and 10.
    sizes = [900, 100]
    found = [
        weight * size for weight, size in zip(tempered([1.0, 1.0], sizes, temperature), sizes, strict=True)
    ]
    assert sum(found) == pytest.approx(1000)
    assert [part / 1000 for part in found] == pytest.approx(shares, abs=0.002)
