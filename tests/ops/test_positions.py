"""Positions against their formulas in float64, and what the kinds that know distances alone do not know."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.ops.positions import (
    alibi_slopes,
    clipped_distances,
    distance_penalties,
    index_positions,
    rotate,
    sinusoidal_grid_positions,
    sinusoidal_positions,
    timescale_positions,
)

RNG = np.random.default_rng(3)


def formula(positions: np.ndarray, hidden_dim: int) -> np.ndarray:
    columns = np.arange(hidden_dim)
    angles = positions[:, None] / 10_000.0 ** (2 * (columns // 2) / hidden_dim)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


def encode(positions: np.ndarray, hidden_dim: int) -> np.ndarray:
    return ops.convert_to_numpy(sinusoidal_positions(positions, hidden_dim))


def test_the_first_row_alternates_between_0_and_1() -> None:
    assert encode(np.array([0]), 4).tolist() == [[0.0, 1.0, 0.0, 1.0]]


def test_timescales_by_hand() -> None:
    # D = 4: the exponents are 0 and 1, and position 1 counts as 2.
    expected = [np.sin(2), np.sin(2e-4), np.cos(2), np.cos(2e-4)]
    np.testing.assert_allclose(timescale_positions(np.array([1]), 4)[0], expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"'timescale' need an even width of at least 4. Received: 2"):
        timescale_positions(np.array([1]), 2)


def test_a_sine_and_the_cosine_beside_it_share_a_wavelength() -> None:
    # D = 4: the exponents are 0, 0, 1/2, 1/2, so position 100 is at the angles 100 and 100 / 100 = 1.
    expected = [np.sin(100), np.cos(100), np.sin(1), np.cos(1)]
    np.testing.assert_allclose(encode(np.array([100]), 4)[0], expected, atol=1e-6)


@pytest.mark.parametrize("hidden_dim", [1, 7, 128])
def test_far_positions_are_as_accurate_as_near_ones(hidden_dim: int) -> None:
    positions = np.concatenate([np.arange(4096), np.arange(24_000, 25_000)])
    np.testing.assert_allclose(encode(positions, hidden_dim), formula(positions, hidden_dim), atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_positions_are_float32_under_every_policy(policy: str) -> None:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        table = sinusoidal_positions(ops.arange(4096), 64)
    finally:
        keras.config.set_dtype_policy(before)
    assert keras.backend.standardize_dtype(table.dtype) == "float32"
    np.testing.assert_allclose(ops.convert_to_numpy(table), formula(np.arange(4096), 64), atol=1e-5)


def test_a_grid_has_its_rows_in_one_half_and_its_columns_in_the_other() -> None:
    grid = ops.convert_to_numpy(sinusoidal_grid_positions(2, 3, 5))
    assert grid.shape == (6, 5)
    for place, (row, column) in enumerate([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]):
        np.testing.assert_array_equal(grid[place, :3], encode(np.array([row]), 3)[0])
        np.testing.assert_array_equal(grid[place, 3:], encode(np.array([column]), 2)[0])


def test_the_plain_index_survives_a_norm() -> None:
    table = ops.convert_to_numpy(index_positions(np.array([0, 3, 700]), 4))
    expected = [[0, 0, 0, 0], [0.03, -0.03, 0.03, -0.03], [7, -7, 7, -7]]
    np.testing.assert_allclose(table, expected, rtol=1e-6)
    assert table.dtype == np.float32
    assert ops.convert_to_numpy(index_positions(np.array([1]), 5)).shape == (1, 5)


def turned(heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Pairs as complex numbers, in float64."""
    half = heads.shape[-1] // 2
    angles = positions[:, None] / 10_000.0 ** (np.arange(half) / half)
    pairs = (heads[..., :half] + 1j * heads[..., half:]) * np.exp(1j * angles)
    return np.concatenate([pairs.real, pairs.imag], -1)


def test_a_quarter_turn_by_hand() -> None:
    # d = 2: the one pair turns by one radian a position.
    heads = np.array([[1.0, 0.0], [0.0, 1.0]], "float32")
    expected = [[np.cos(2), np.sin(2)], [-np.sin(3), np.cos(3)]]
    np.testing.assert_allclose(rotate(heads, np.array([2, 3])), expected, atol=1e-6)


@pytest.mark.parametrize(("dtype", "error"), [("float32", 5e-5), ("float16", 2e-3), ("bfloat16", 2e-2)])
def test_rotations_far_away_are_as_accurate_as_near_ones(dtype: str, error: float) -> None:
    heads = ops.cast(RNG.normal(size=(2, 3, 7, 10)), dtype)
    positions = np.array([0, 1, 5, 60, 4095, 20_000, 24_999])
    outputs = rotate(heads, positions)
    assert keras.backend.standardize_dtype(outputs.dtype) == dtype
    exact = ops.convert_to_numpy(ops.cast(heads, "float32")).astype("float64")
    np.testing.assert_allclose(ops.cast(outputs, "float32"), turned(exact, positions), atol=3 * error)


def test_products_of_rotated_vectors_depend_on_distances_alone() -> None:
    query, key = (RNG.normal(size=(1, 6)).astype("float32") for _ in range(2))
    products = [
        float(ops.sum(rotate(query, np.array([place + 4])) * rotate(key, np.array([place]))))
        for place in (0, 1, 11, 900)
    ]
    np.testing.assert_allclose(products, products[0], atol=1e-5)
    assert abs(products[0] - float(np.sum(query * key))) > 0.1


def test_distances_are_clipped_on_either_side() -> None:
    rows = clipped_distances(np.array([3, 4]), np.arange(6), 2)
    assert ops.convert_to_numpy(rows).tolist() == [[0, 0, 1, 2, 3, 4], [0, 0, 0, 1, 2, 3]]


def test_slopes_of_any_number_of_heads() -> None:
    np.testing.assert_allclose(alibi_slopes(8), [2.0**-n for n in range(1, 9)])
    np.testing.assert_allclose(alibi_slopes(4), [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8])
    np.testing.assert_allclose(alibi_slopes(1), [2.0**-8])
    # Six: those of four, then the first and the third of eight.
    np.testing.assert_allclose(alibi_slopes(6), [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3])


def test_penalties_by_hand() -> None:
    penalties = ops.convert_to_numpy(distance_penalties(np.array([1, 2]), np.arange(3), 2))
    np.testing.assert_allclose(penalties[0], [[1 / 16, 0, 1 / 16], [2 / 16, 1 / 16, 0]])
    np.testing.assert_allclose(penalties[1], [[1 / 256, 0, 1 / 256], [2 / 256, 1 / 256, 0]])
