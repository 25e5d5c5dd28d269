"""Sinusoidal positions against the formula in float64."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.ops.positions import sinusoidal_grid_positions, sinusoidal_positions


def formula(positions: np.ndarray, hidden_dim: int) -> np.ndarray:
    columns = np.arange(hidden_dim)
    angles = positions[:, None] / 10_000.0 ** (2 * (columns // 2) / hidden_dim)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


def encode(positions: np.ndarray, hidden_dim: int) -> np.ndarray:
    return ops.convert_to_numpy(sinusoidal_positions(positions, hidden_dim))


def test_the_first_row_alternates_between_0_and_1() -> None:
    assert encode(np.array([0]), 4).tolist() == [[0.0, 1.0, 0.0, 1.0]]


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
