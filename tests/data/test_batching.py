"""The batch plan: every row once an epoch, within the budget, few shapes, little padding, the same always."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tf_transformer.data.batching import Batch, BatchPlan
from tf_transformer.presets import GREATEST_WEIGHT
from tf_transformer.recipe.parallel_entries import TrainFiles


def _like_captions(rows: int = 11_003) -> dict[str, np.ndarray]:
    """Lengths distributed like those of image captions and their translations."""
    random = np.random.default_rng(7)
    target = np.clip(np.round(random.lognormal(2.7, 0.33, rows)), 3, 60).astype(np.int64)
    source = np.clip(np.round(target * random.normal(1.0, 0.17, rows)), 3, 60).astype(np.int64)
    return {"source": source, "target": target}


def _plain(batches: list[Batch]) -> list[tuple[list[int], dict[str, int], int]]:
    return [(batch.rows.tolist(), batch.lengths, batch.tokens) for batch in batches]


@settings(max_examples=60, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(1, 23), st.integers(1, 29)), min_size=1, max_size=70),
    batch_tokens=st.integers(1, 120),
    seed=st.integers(0, 5),
    max_shapes=st.integers(1, 13),
    budget_column=st.sampled_from(["source", "target", None]),
)
def test_every_row_once_within_budget_and_shapes(
    pairs: list[tuple[int, int]], batch_tokens: int, seed: int, max_shapes: int, budget_column: str | None
) -> None:
    lengths = dict(zip(("source", "target"), np.array(pairs).T, strict=True))
    options = {"budget_column": budget_column, "seed": seed, "max_shapes": max_shapes}
    plan = BatchPlan(lengths, batch_tokens, **options)  # type: ignore[arg-type]
    shapes = set()
    for epoch in (0, 1, 40):
        batches = plan.epoch(epoch)
        assert sorted(row for batch in batches for row in batch.rows) == list(range(len(pairs)))
        for batch in batches:
            costs = lengths[budget_column][batch.rows] if budget_column else np.ones(len(batch.rows), int)
            assert batch.tokens == costs.sum()
            assert batch.tokens <= batch_tokens or len(batch.rows) == 1
            assert all(lengths[name][batch.rows].max() <= batch.lengths[name] for name in lengths)
            shapes.add(tuple(batch.lengths.items()))
    assert len(shapes) <= len(plan.shapes) <= max_shapes
    again = BatchPlan(lengths, batch_tokens, **options)  # type: ignore[arg-type]
    assert _plain(again.epoch(40)) == _plain(plan.epoch(40))


@pytest.mark.parametrize("batch_tokens", [2000, 3001, 12000, 20000])
def test_no_batch_is_a_crumb_and_rows_are_round_numbers(batch_tokens: int) -> None:
    plan = BatchPlan(_like_captions(), batch_tokens)
    for epoch in range(4):
        batches = plan.epoch(epoch)
        tokens = np.array([batch.tokens for batch in batches])
        assert tokens.min() > 0.45 * tokens.mean()  # one may be half of the others
        odd = [len(batch.rows) for batch in batches if len(batch.rows) >= 128 and len(batch.rows) % 4]
        assert len(odd) <= 1  # the last one takes what is left


@pytest.mark.parametrize("batch_tokens", [2000, 3001])
def test_batches_are_full_and_padding_is_small(batch_tokens: int) -> None:
    lengths = _like_captions()
    plan = BatchPlan(lengths, batch_tokens)
    tokens = np.array([batch.tokens for batch in plan.epoch(3)])
    assert np.mean(tokens) > 0.95 * batch_tokens
    assert np.mean(tokens > 0.9 * batch_tokens) > 0.95
    padding = plan.padding(3)
    assert padding["target"] < 0.06 and padding["source"] < 0.12
    assert len(plan.shapes) <= 80


def test_shapes_are_fixed_for_the_whole_run() -> None:
    plan = BatchPlan(_like_captions(3_001), 1500, max_shapes=17)
    used = {tuple(batch.lengths.values()) for epoch in range(23) for batch in plan.epoch(epoch)}
    assert used <= {tuple(shape.values()) for shape in plan.shapes} and len(plan.shapes) <= 17


def test_epochs_differ_in_composition_and_order() -> None:
    plan = BatchPlan(_like_captions(5_003), 1500, seed=3)
    first, second = plan.epoch(0), plan.epoch(1)
    groups = {frozenset(batch.rows.tolist()) for batch in first}
    assert not any(frozenset(batch.rows.tolist()) in groups for batch in second)
    # A batch does not stay together, although its rows have like lengths in every epoch.
    home = {row: index for index, batch in enumerate(second) for row in batch.rows.tolist()}
    kept = [Counter(home[row] for row in batch.rows.tolist()).most_common(1)[0][1] for batch in first]
    assert sum(kept) < 0.85 * plan.num_rows
    assert _plain(BatchPlan(_like_captions(5_003), 1500, seed=4).epoch(0)) != _plain(first)
    lengths = np.array([batch.lengths["target"] for batch in first], float)
    assert abs(np.corrcoef(lengths[:-1], lengths[1:])[0, 1]) < 0.35  # short ones do not follow on short ones


def test_a_long_row_stands_alone() -> None:
    plan = BatchPlan({"source": np.array([2, 3, 5, 7]), "target": np.array([3, 31, 5, 2])}, 11)
    batches = {tuple(sorted(batch.rows.tolist())) for batch in plan.epoch(0)}
    assert batches == {(1,), (0, 2, 3)}


def test_one_very_long_source_does_not_pad_its_whole_batch() -> None:
    source = np.full(1000, 7)
    source[500] = 5000
    plan = BatchPlan({"source": source, "target": np.full(1000, 5)}, 2500)
    assert max(len(batch.rows) * batch.lengths["source"] for batch in plan.epoch(0)) < 4 * 2500 * 13


def test_one_column_and_rows_as_budget() -> None:
    plan = BatchPlan({"text": np.array([5, 2, 3, 2, 7, 2])}, 7, budget_column="text")
    assert all(batch.tokens <= 7 and set(batch.lengths) == {"text"} for batch in plan.epoch(0))
    assert set(plan.padding()) == {"text"}
    plan = BatchPlan({"text": np.arange(1, 12)}, 3, budget_column=None)
    assert sorted(batch.tokens for batch in plan.epoch(0)) == [2, 3, 3, 3]


def test_weights_say_how_often_a_corpus_occurs() -> None:
    lengths = {"source": np.full(23, 2), "target": np.full(23, 3)}
    corpora = np.array([0] * 5 + [1] * 7 + [2] * 11)
    plan = BatchPlan(lengths, 9, corpora=corpora, weights=[1, 2.5, 0.3])
    total: Counter[int] = Counter()
    for epoch in range(10):
        seen = Counter(int(row) for batch in plan.epoch(epoch) for row in batch.rows)
        assert all(seen[row] == 1 for row in range(5))
        assert all(2 <= seen[row] <= 3 for row in range(5, 12))
        assert all(seen[row] <= 1 for row in range(12, 23))
        assert sum(seen[row] for row in range(12, 23)) in (3, 4)
        total += seen
    # Ten epochs: every row as often as every other one of its corpus.
    assert {total[row] for row in range(5, 12)} == {25} and {total[row] for row in range(12, 23)} == {3}
    none = BatchPlan(lengths, 9, corpora=corpora, weights=[0, 1, 0])
    assert sorted(row for batch in none.epoch(0) for row in batch.rows) == list(range(5, 12))


def test_many_rows_are_planned_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tf_transformer.data.batching._ROWS_TRIED", 503)
    plan = BatchPlan(_like_captions(5_003), 1500)
    assert plan.padding()["target"] < 0.2
    assert sorted(row for batch in plan.epoch(0) for row in batch.rows) == list(range(5_003))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"lengths": {}}, "`lengths` must be one or two columns"),
        ({"lengths": {"source": [2], "target": [2, 3]}}, "`lengths` must be one or two columns of equally"),
        ({"lengths": {"source": [], "target": []}}, "many rows. Received: {'source': 0, 'target': 0}"),
        ({"lengths": {"source": [2], "target": [0]}}, "must be at least 1. Received: a row of length 0"),
        ({"budget_column": "label"}, r"None or one of \['source', 'target'\]. Received: 'label'"),
        ({"batch_tokens": 0}, "`batch_tokens` must be at least 1. Received: 0"),
        ({"seed": -1}, "`seed` must be at least 0. Received: -1"),
        ({"max_shapes": 0}, "`max_shapes` must be at least 1. Received: 0"),
        ({"corpora": [0]}, "`corpora` must have an entry for each of 2 rows. Received: 1"),
        (
            {"lengths": {"source": [2.0], "target": [3]}},
            "must be whole numbers, one a row. Received: float64",
        ),
        ({"lengths": {"target": [[2, 3]]}}, "must be whole numbers, one a row. Received: int64, 2 axes"),
        ({"batch_tokens": 7.5}, "`batch_tokens` must be a whole number, at least 1. Received: 7.5"),
        ({"seed": None}, "`seed` must be a whole number, at least 0. Received: None"),
        ({"max_shapes": "8"}, "`max_shapes` must be a whole number, at least 1. Received: '8'"),
        ({"corpora": [0, -1]}, r"`corpora` must be whole numbers, at least 0. Received: \[0, -1\]"),
        ({"corpora": [0, 0.5]}, r"`corpora` must be whole numbers, at least 0. Received: \[0.0, 0.5\]"),
        ({"weights": [-1]}, "`weights` must be a finite number, at least 0. Received: -1"),
        ({"weights": ["1"]}, "`weights` must be a finite number, at least 0. Received: '1'"),
        ({"weights": [1e9]}, r"each of 1 corpora a number from 0 to 1000. Received: \[1000000000.0\]"),
        (
            {"corpora": [0, 1], "weights": [1]},
            r"each of 2 corpora a number from 0 to 1000. Received: \[1.0\]",
        ),
        ({"weights": [0]}, r"`weights` must be above 0 for a corpus that has rows. Received: \[0.0\]"),
    ],
)
def test_wrong_arguments_are_refused(change: dict[str, object], rule: str) -> None:
    arguments = {"lengths": {"source": [2, 3], "target": [3, 5]}, "batch_tokens": 7} | change
    with pytest.raises((TypeError, ValueError), match=rule):
        BatchPlan(**arguments)  # type: ignore[arg-type]


def test_the_recipe_has_the_same_limit(tmp_path: Path) -> None:
    entry = {side: str(tmp_path / side) for side in ("source", "target")}
    for file in entry.values():
        Path(file).touch()
    assert TrainFiles(**entry, weight=GREATEST_WEIGHT).weight == GREATEST_WEIGHT
    with pytest.raises(ValidationError, match="less than or equal to 1000"):
        TrainFiles(**entry, weight=GREATEST_WEIGHT + 1)
