"""Batches of so many rows: every row once an epoch, in an order that hangs on seed and epoch alone."""

from collections import Counter

import numpy as np
import pytest

from tf_transformer.data.row_plan import RowPlan


def rows(plan: RowPlan, epoch: int) -> list[int]:
    return [row for batch in plan.epoch(epoch) for row in batch.rows.tolist()]


def test_every_row_once_in_batches_of_even_size() -> None:
    plan = RowPlan(23, 5, seed=3)
    for epoch in range(3):
        assert sorted(rows(plan, epoch)) == list(range(23))
        sizes = [len(batch.rows) for batch in plan.epoch(epoch)]
        assert sorted(sizes) == [4, 4, 5, 5, 5] and sizes == [batch.tokens for batch in plan.epoch(epoch)]
        assert all(batch.lengths == {} for batch in plan.epoch(epoch))
    assert (plan.num_batches(0), plan.columns, plan.padding(), plan.batch_tokens) == (5, (), {}, 5)
    assert rows(plan, 0) != rows(plan, 1)


def test_it_is_a_function_of_seed_and_epoch() -> None:
    plan, again, other = RowPlan(23, 5, seed=3), RowPlan(23, 5, seed=3), RowPlan(23, 5, seed=4)
    assert rows(again, 7) == rows(plan, 7) != rows(other, 7)
    assert plan.digest() == again.digest()
    digests = {
        plan.digest(),
        other.digest(),
        RowPlan(23, 6, seed=3).digest(),
        RowPlan(24, 5, seed=3).digest(),
    }
    assert len(digests) == 4


def test_corpora_by_weight() -> None:
    corpora = np.array([0] * 7 + [1] * 4)
    plan = RowPlan(11, 3, corpora=corpora, weights=[2.0, 0.5])
    seen = [Counter(rows(plan, epoch)) for epoch in range(2)]
    assert all(count[row] == 2 for count in seen for row in range(7))
    # Half of the second corpus, and the other half in the next epoch.
    assert sorted(row for count in seen for row in count if row >= 7) == [7, 8, 9, 10]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5), r"`num_rows` must be at least 1\. Received: 0"),
        ((5, 0), r"`batch_size` must be at least 1\. Received: 0"),
    ],
)
def test_wrong_arguments(arguments: tuple[int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RowPlan(*arguments)
