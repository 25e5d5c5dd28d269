"""Pooling layers: what each kind gives, and the weights of attention."""

import numpy as np
import pytest

from tf_transformer.layers import AttentionPooling, Pooling

STATES = np.array([[[1.0, 5.0], [3.0, 1.0], [9.0, 9.0]]], "float32")
MASK = np.array([[True, True, False]])


@pytest.mark.parametrize(
    ("kind", "expected"), [("mean", [2.0, 3.0]), ("max", [3.0, 5.0]), ("first", [1.0, 5.0])]
)
def test_kinds_by_hand(kind: str, expected: list[float]) -> None:
    assert np.asarray(Pooling(kind)(STATES, padding_mask=MASK)).tolist() == [expected]


@pytest.mark.parametrize("kind", ["mean", "max", "first", "attention"])
def test_padding_never_counts_and_nothing_is_zero(kind: str) -> None:
    pooling = Pooling(kind, seed=3)
    expected = np.asarray(pooling(STATES[:, :2]))
    others = STATES.copy()
    others[:, 2] = np.inf
    np.testing.assert_allclose(pooling(STATES, padding_mask=MASK), expected, rtol=1e-6)
    np.testing.assert_allclose(pooling(others, padding_mask=MASK), expected, rtol=1e-6)
    assert np.asarray(pooling(others, padding_mask=np.zeros_like(MASK))).tolist() == [[0.0, 0.0]]


def test_attention_by_hand() -> None:
    pooling = AttentionPooling(scoring_dim=1)
    pooling.build((None, None, 2))
    # scores atanh(0.5) -> 0.5 and atanh(-0.5) -> -0.5, times log(3): the weights are as 3 to 1
    pooling.set_weights([np.array([[1.0], [0.0]]), np.zeros(1), np.array([[np.log(3.0)]])])
    states = np.array([[[np.arctanh(0.5), 8.0], [np.arctanh(-0.5), 4.0], [5.0, 100.0]]], "float32")
    pooled, weights = pooling(states, padding_mask=MASK, return_attention_scores=True)
    np.testing.assert_allclose(weights, [[0.75, 0.25, 0.0]], rtol=1e-6)
    np.testing.assert_allclose(pooled, [[np.arctanh(0.5) * 0.5, 7.0]], rtol=1e-6)


def test_unknown_kind() -> None:
    with pytest.raises(
        ValueError, match=r"`kind` must be one of 'mean', 'first', 'max', 'attention'. Received"
    ):
        Pooling("median")
