"""Pictures seen through another grid: where each pixel comes from, and what stands there."""

import math
from typing import Any

import numpy as np
from keras import ops

from tf_transformer.ops import Tensor

_SPREAD = 3.0
"""How many deviations beyond the picture smooth noise is drawn: what lies further adds nothing."""


def affine_places(
    height: int, width: int, angle: Tensor, shear: Tensor, scale: Tensor, shift: Tensor
) -> Tensor:
    """Where the pixels of a turned, sheared, scaled and shifted picture come from.

    With p the place of a pixel counted from the picture's middle, the place in the original is
    `R(angle) (1 shear; 0 1) (p - shift) / scale`, row and column apart where `scale` and `shift` are.

    Args:
        height: Pixels from top to bottom.
        width: Pixels from left to right.
        angle: Float tensor `[B]`, radians.
        shear: Float tensor `[B]`, columns that a pixel moves for each row.
        scale: Float tensor `[B, 2]`: more than 1 enlarges; a negative one also flips.
        shift: Float tensor `[B, 2]`, pixels down and to the right.

    Returns:
        Float32 tensor `[B, height, width, 2]`: row and column, counted from the first pixel.
    """
    middle = np.array([(height - 1) / 2, (width - 1) / 2], "float32")
    grid = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), axis=-1) - middle
    places = (ops.convert_to_tensor(grid, "float32") - _per_picture(shift)) / _per_picture(scale)
    rows, columns = places[..., 0], places[..., 1]  # [B, height, width]
    columns = columns + shear[:, None, None] * rows
    cos, sin = ops.cos(angle)[:, None, None], ops.sin(angle)[:, None, None]
    return ops.stack([cos * rows - sin * columns, sin * rows + cos * columns], axis=-1) + middle


def _per_picture(values: Tensor) -> Tensor:
    return ops.cast(values, "float32")[:, None, None, :]  # [B, 1, 1, 2]


def smooth_basis(size: int, smoothness: float) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """What turns coarse normal noise into smooth noise along one axis of a picture.

    Each pixel gets the noise around it, weighted by a Gaussian; the weights of a pixel have a norm of 1, so
    that the result has the deviation of the noise. "Best Practices for Convolutional Neural Networks Applied
    to Visual Document Analysis" (Simard et al., 2003) smooth noise so for their elastic distortions.

    Args:
        size: Pixels.
        smoothness: The Gaussian's deviation in pixels.

    Returns:
        Float32 array `[size, G]`, with G noises a deviation apart.
    """
    count = math.ceil(size / smoothness + 2 * _SPREAD) + 1
    centres = (np.arange(count) - (count - 1) / 2) * smoothness + (size - 1) / 2
    weights = np.exp(-0.5 * ((np.arange(size)[:, None] - centres) / smoothness) ** 2)
    unit: np.ndarray[Any, Any] = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return unit.astype(np.float32)


def smooth_field(noise: Tensor, row_basis: Tensor, column_basis: Tensor) -> Tensor:
    """Smooth noise over a picture.

    Args:
        noise: Float tensor `[..., G, F]`, independent normal numbers.
        row_basis: `smooth_basis` of the height, `[height, G]`.
        column_basis: `smooth_basis` of the width, `[width, F]`.

    Returns:
        Tensor `[..., height, width]` of the noise's deviation.
    """
    return ops.matmul(ops.matmul(row_basis, noise), ops.transpose(column_basis))


def sample_pixels(images: Tensor, places: Tensor, outside: str = "black") -> Tensor:
    """The pixels at places between pixels, mixed of the four around each.

    Args:
        images: Float tensor `[B, height, width, C]`.
        places: Float tensor `[B, rows, columns, 2]`: row and column in `images`.
        outside: What lies beyond the border: `"black"` (zeros) or `"edge"` (the pixel at the border).

    Returns:
        Tensor `[B, rows, columns, C]`.
    """
    batch, height, width, channels = ops.shape(images)
    if outside == "edge":
        places = ops.clip(places, 0.0, np.array([height - 1, width - 1], "float32"))
    flat = ops.reshape(images, (-1, channels))
    first = (ops.arange(batch) * (height * width))[:, None, None]  # where each picture begins in `flat`
    corner = ops.floor(places)
    share = places - corner  # [B, rows, columns, 2], of the further row and column
    corner = ops.cast(corner, "int32")
    total: Tensor = 0.0
    for down in (0, 1):
        for right in (0, 1):
            row, column = corner[..., 0] + down, corner[..., 1] + right
            weight = _share(share[..., 0], down) * _share(share[..., 1], right)
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            row, column = ops.clip(row, 0, height - 1), ops.clip(column, 0, width - 1)
            pixels = ops.take(flat, first + row * width + column, axis=0)  # [B, rows, columns, C]
            total = total + pixels * ops.where(inside, weight, 0.0)[..., None]
    return total


def _share(share: Tensor, further: int) -> Tensor:
    return share if further else 1.0 - share
