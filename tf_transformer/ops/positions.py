"""Sinusoidal positions, computed in float32 for any positions asked for: there is no table to outgrow."""

import math

import numpy as np
from keras import ops

from tf_transformer.ops import Tensor

_MAX_WAVELENGTH = 10_000.0
_COARSE_STEPS = 2.0**12


def sinusoidal_positions(positions: Tensor, hidden_dim: int) -> Tensor:
    """Encodes positions by sines and cosines of geometrically growing wavelengths.

    `PE(p, 2i) = sin(p / 10000^(2i/D))` and `PE(p, 2i+1) = cos(p / 10000^(2i/D))`: "Attention Is All You Need"
    (Vaswani et al., 2017), section 3.5; sine and cosine are interleaved as there.

    Args:
        positions: Integer or float tensor `[T]`, the positions, counted from 0.
        hidden_dim: The width D of the encoding; may be odd.

    Returns:
        Float32 tensor `[T, D]` whatever the precision policy; the error is below 1e-5 up to position 25 000.
    """
    coarse, fine = _frequencies(hidden_dim)
    positions = ops.cast(positions, "float32")[:, None]  # [T, 1]
    turns = positions * coarse  # exact, see _frequencies
    angles = (turns - ops.floor(turns) + positions * fine) * (2.0 * math.pi)  # [T, ceil(D/2)]
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)  # [T, ceil(D/2), 2]
    return ops.reshape(pairs, (-1, 2 * coarse.shape[-1]))[:, :hidden_dim]


def sinusoidal_grid_positions(height: int, width: int, hidden_dim: int) -> Tensor:
    """Encodes the places of a grid: the row in the first half of the dimensions, the column in the second.

    Each half is `sinusoidal_positions` of one coordinate, so that the product of two encodings tells how far
    apart two places are in either direction.

    Args:
        height: Number of rows.
        width: Number of columns.
        hidden_dim: The width D of the encoding, at least 2; of an odd one, rows have one dimension more.

    Returns:
        Float32 tensor `[height * width, D]`, row after row.
    """
    of_columns = hidden_dim // 2
    rows = sinusoidal_positions(ops.arange(height), hidden_dim - of_columns)  # [height, ceil(D/2)]
    columns = sinusoidal_positions(ops.arange(width), of_columns)  # [width, floor(D/2)]
    return ops.concatenate([ops.repeat(rows, width, axis=0), ops.tile(columns, (height, 1))], axis=-1)


def _frequencies(hidden_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The frequencies in turns per position `[ceil(D/2)]`, as a coarse part and what it lacks.

    A float32 angle of many radians has lost the digits that its sine depends on. The coarse part has so few
    binary digits that its product with a position is exact, and whole turns are dropped without any rounding.
    """
    exponents = np.arange(0, hidden_dim, 2) / hidden_dim
    turns = _MAX_WAVELENGTH**-exponents / (2.0 * math.pi)  # float64
    coarse = np.floor(turns * _COARSE_STEPS) / _COARSE_STEPS
    return coarse.astype("float32"), (turns - coarse).astype("float32")
