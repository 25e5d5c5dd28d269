"""The least loss of a batch, worked out by hand and reached by logits that are what labels are."""

from math import log

import numpy as np
import pytest

from tf_transformer.evaluation.loss_floor import loss_floor
from tf_transformer.losses import smoothed_cross_entropy

SMOOTHING = 0.2


def entropy(*shares: float) -> float:
    return -sum(share * log(share) for share in shares)


def test_different_inputs_leave_what_smoothing_leaves() -> None:
    # Five logits, one of them padding: 4 classes, so 0.2 / 4 on each and 0.8 more on the label.
    found = loss_floor({"target_ids": np.array([[2, 4, 4]])}, np.array([[4, 4, 0]]), 5, SMOOTHING)
    assert found.labels == 2
    assert found.lowest == pytest.approx(entropy(0.85, 0.05, 0.05, 0.05))
    assert found.frequencies == pytest.approx(found.lowest)  # all labels are the same
    assert found.uniform == pytest.approx(log(5))


def test_equal_inputs_with_different_labels_share_one_distribution() -> None:
    inputs = {"points": np.array([[1, 2], [1, 2], [1, 2], [3, 4]])}
    found = loss_floor(inputs, np.array([0, 0, 1, 1]), 3, 0.0, ignore_id=-1)
    assert found.lowest == pytest.approx(3 / 4 * entropy(2 / 3, 1 / 3))
    assert found.frequencies == pytest.approx(log(2))


def test_a_label_has_seen_its_source_and_the_pieces_before_it() -> None:
    target, labels = np.array([[2, 7, 8], [2, 7, 9]]), np.array([[7, 8, 3], [7, 9, 3]])
    alone = loss_floor({"target_ids": target}, labels, 11)
    assert alone.lowest == pytest.approx(2 / 6 * log(2))  # after "2 7" comes 8 as often as 9
    with_source = {"target_ids": target, "source_ids": np.array([[4], [5]])}
    assert loss_floor(with_source, labels, 11).lowest == 0.0


def test_no_logits_are_below_the_floor_and_the_right_ones_reach_it() -> None:
    labels = np.array([[4, 6, 5, 4]])
    floor = loss_floor({"target_ids": np.array([[2, 4, 6, 5]])}, labels, 7, SMOOTHING).lowest
    shares = np.full((1, 4, 7), SMOOTHING / 6)
    np.put_along_axis(shares, labels[..., None], 1 - SMOOTHING + SMOOTHING / 6, axis=-1)
    shares[..., 0] = 1e-30  # padding is no class
    reached = float(np.mean(smoothed_cross_entropy(labels, np.log(shares), SMOOTHING)))
    assert reached == pytest.approx(floor, abs=1e-6)
    draw = np.random.default_rng(3)
    for _ in range(5):
        other = np.log(shares) + draw.normal(0, 0.3, shares.shape)
        assert float(np.mean(smoothed_cross_entropy(labels, other, SMOOTHING))) > floor


def test_labels_that_do_not_count_have_no_floor() -> None:
    with pytest.raises(ValueError, match=r"`labels` must have one at least that counts\. Received: none"):
        loss_floor({"target_ids": np.zeros((1, 2))}, np.zeros((1, 2), int), 5)
