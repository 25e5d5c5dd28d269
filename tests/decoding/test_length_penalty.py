"""Both formulas by hand."""

import numpy as np
import pytest

from tf_transformer.decoding.length_penalty import check_length_penalty, ranking_score


@pytest.mark.parametrize(
    ("formula", "alpha", "scores"),
    # Log-probabilities -6, -6, -4 at lengths 1, 7, 13; (5 + length) / 6 is 1, 2, 3.
    [
        ("mean", 0.0, [-6.0, -6.0, -4.0]),
        ("mean", 1.0, [-6.0, -6.0 / 7.0, -4.0 / 13.0]),
        ("mean", 2.0, [-6.0, -6.0 / 49.0, -4.0 / 169.0]),
        ("gnmt", 0.0, [-6.0, -6.0, -4.0]),
        ("gnmt", 1.0, [-6.0, -3.0, -4.0 / 3.0]),
        ("gnmt", 2.0, [-6.0, -1.5, -4.0 / 9.0]),
    ],
)
def test_by_hand(formula, alpha, scores):
    found = ranking_score(np.float32([-6.0, -6.0, -4.0]), np.int32([1, 7, 13]), alpha, formula)
    np.testing.assert_allclose(found, scores, rtol=1e-6)


def test_nothing_and_the_impossible_have_scores_too():
    found = ranking_score(np.float32([0.0, -np.inf]), np.int32([0, 0]), 1.0, "mean")
    np.testing.assert_array_equal(found, [0.0, -np.inf])


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"`length_formula` must be one of mean, gnmt\. Received: 'avg'"):
        check_length_penalty(1.0, "avg")
    for alpha in (-1.0, float("nan"), float("inf")):
        with pytest.raises(
            ValueError, match=r"`length_penalty` must be a finite number, at least 0\. Received"
        ):
            check_length_penalty(alpha, "mean")
