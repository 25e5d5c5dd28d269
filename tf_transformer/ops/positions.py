"""Positions: what is added to embeddings, and what attention makes of distances.

All of it is computed in float32 for any positions asked for: there is no table to outgrow.
"""

import math
from typing import Any

import numpy as np
from keras import ops

from tf_transformer.ops import Tensor

POSITION_KINDS = ("sinusoidal", "timescale", "learned", "index", "relative", "rotary", "alibi", "none")
"""The first four are added to embeddings, the next three belong to self-attention."""
INDEX_SCALE = 100.0
"""Position 100 weighs as much as a token's embedding."""
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
    angles = _angles(positions, hidden_dim)
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)  # [T, ceil(D/2), 2]
    return ops.reshape(pairs, (-1, 2 * angles.shape[-1]))[:, :hidden_dim]


def timescale_positions(positions: Tensor, hidden_dim: int) -> Tensor:
    """Encodes positions by sines and cosines as tensor2tensor and OpenNMT-tf have them.

    `PE(p, i) = sin((p + 1) / 10000^(i/(n-1)))` and `PE(p, n + i)` its cosine, i = 0 … n - 1 and n = D/2: all
    sines stand before all cosines, the slowest wave is the longest there is, and OpenNMT-tf counts from 1.

    Args:
        positions: Integer or float tensor `[T]`, the positions, counted from 0.
        hidden_dim: The width D of the encoding; even, and at least 4.

    Returns:
        Float32 tensor `[T, D]` whatever the precision policy.

    Raises:
        ValueError: If the width is odd, or below 4.
    """
    if hidden_dim % 2 or hidden_dim < 4:
        raise ValueError(
            f"Positions of the kind 'timescale' need an even width of at least 4. Received: {hidden_dim}"
        )
    number = hidden_dim // 2
    angles = _angles_of(ops.cast(positions, "float32") + 1.0, np.arange(number) / (number - 1))
    return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)


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


def index_positions(positions: Tensor, hidden_dim: int) -> Tensor:
    """Encodes positions by their plain number: `PE(p, i) = (-1)^i p / 100`.

    The signs alternate since layer norm takes away what all components have in common: added with one sign,
    the number would be gone at the first norm.

    Args:
        positions: Integer or float tensor `[T]`, the positions, counted from 0.
        hidden_dim: The width D of the encoding.

    Returns:
        Float32 tensor `[T, D]`.
    """
    signs = (-1.0) ** np.arange(hidden_dim) / INDEX_SCALE
    return ops.cast(positions, "float32")[:, None] * signs.astype("float32")


def rotate(heads: Tensor, positions: Tensor) -> Tensor:
    """Turns pairs of components by angles that grow with the position.

    "RoFormer: Enhanced Transformer with Rotary Position Embedding" (Su et al., 2021), equations 14 and 15: a
    pair turns by `p / 10000^(2i/d)`, so that products of queries and keys depend on distances alone. Pair i
    is made of components i and i + d/2; the paper takes neighbours, which come to the same with the columns
    of kernels in another order, and cost more.

    Args:
        heads: Tensor `[..., T, d]`, d even: queries, or keys.
        positions: Integer tensor `[T]`.

    Returns:
        Tensor `[..., T, d]` in the dtype of `heads`; the rotation itself is in float32.
    """
    angles = _angles(positions, heads.shape[-1])  # [T, d/2]
    sine, cosine = ops.sin(angles), ops.cos(angles)
    first, second = ops.split(ops.cast(heads, "float32"), 2, axis=-1)
    turned = ops.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
    return ops.cast(turned, heads.dtype)


def clipped_distances(queries: Tensor, keys: Tensor, max_distance: int) -> Tensor:
    """How far keys stand behind queries, as rows of a table of `2 * max_distance + 1` distances.

    "Self-Attention with Relative Position Representations" (Shaw et al., 2018), section 3.2: distances are
    clipped, since beyond some way it does not matter how far it is.

    Args:
        queries: Integer tensor `[T]`, positions of the queries.
        keys: Integer tensor `[S]`, positions of the keys.
        max_distance: The greatest distance k that is told from greater ones.

    Returns:
        Integer tensor `[T, S]`: `clip(key - query, -k, k) + k`.
    """
    distances = keys[None, :] - queries[:, None]
    return ops.clip(distances, -max_distance, max_distance) + max_distance


def distance_penalties(queries: Tensor, keys: Tensor, num_heads: int) -> Tensor:
    """What distances take from attention scores: a slope of each head's own times the distance.

    "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation" (Press et al.,
    2022), section 3. There keys stand before their queries; here distances count the same either way, which
    is the form for encoders. A sentence and its mirror image are then the same to an encoder.

    Args:
        queries: Integer tensor `[T]`, positions of the queries.
        keys: Integer tensor `[S]`, positions of the keys.
        num_heads: The number H of heads.

    Returns:
        Float32 tensor `[H, T, S]`, not negative.
    """
    distances = ops.cast(ops.abs(keys[None, :] - queries[:, None]), "float32")
    return alibi_slopes(num_heads)[:, None, None] * distances


def alibi_slopes(num_heads: int) -> np.ndarray[Any, Any]:
    """The slopes of ALiBi: `2^(-8h/H)` for h = 1 … H where H is a power of 2.

    For another H they are, as in the authors' program, those of the power below, and of the power above every
    other one from its first.

    Args:
        num_heads: The number H of heads.

    Returns:
        Float32 `[H]`.
    """
    below = 2 ** (num_heads.bit_length() - 1)
    slopes = 2.0 ** (-8.0 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-8.0 * np.arange(1, 2 * below, 2) / (2 * below))
    return np.concatenate([slopes, between[: num_heads - below]]).astype("float32")


def _angles(positions: Tensor, width: int) -> Tensor:
    """`p / 10000^(2i/width)` within one turn, float32 `[T, ceil(width / 2)]`."""
    return _angles_of(positions, np.arange(0, width, 2) / width)


def _angles_of(positions: Tensor, exponents: np.ndarray[Any, Any]) -> Tensor:
    """`p / 10000^exponent` within one turn, float32 `[T, n]`."""
    coarse, fine = _frequencies(exponents)
    positions = ops.cast(positions, "float32")[:, None]  # [T, 1]
    turns = positions * coarse  # exact, see _frequencies
    return (turns - ops.floor(turns) + positions * fine) * (2.0 * math.pi)


def _frequencies(exponents: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The frequencies in turns per position `[n]`, as a coarse part and what it lacks.

    A float32 angle of many radians has lost the digits that its sine depends on. The coarse part has so few
    binary digits that its product with a position is exact, and whole turns are dropped without any rounding.
    """
    turns = _MAX_WAVELENGTH**-exponents / (2.0 * math.pi)  # float64
    coarse = np.floor(turns * _COARSE_STEPS) / _COARSE_STEPS
    return coarse.astype("float32"), (turns - coarse).astype("float32")
