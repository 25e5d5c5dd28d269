"""Pictures with what a classifier looked at."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tf_transformer.plots.fonts import put

_COLUMNS = 4
_INCHES = 2.2


def rollout_figure(
    images: np.ndarray[Any, Any], relevance: np.ndarray[Any, Any], titles: Sequence[str]
) -> Figure:
    """Draws each picture, and beside it the picture with the share of its patches laid over it.

    The colours of a picture go from its least to its most important patch.

    Args:
        images: uint8 `[N, height, width, channels]`; 1 channel is grey, 3 are colours, of 4 the opacity is
            left out.
        relevance: `[N, rows, columns]`, such as `ops.rollout.patch_relevance` gives.
        titles: A line over each picture.

    Raises:
        ValueError: If there are no pictures, or the three are not equally many.
    """
    if not len(images) or not len(images) == len(relevance) == len(titles):
        raise ValueError(
            "`images`, `relevance` and `titles` must be equally many, and at least one. "
            f"Received: {len(images)}, {len(relevance)} and {len(titles)}"
        )
    across = min(_COLUMNS, len(images))
    down = math.ceil(len(images) / across)
    figure = Figure(figsize=(2 * across * _INCHES, down * (_INCHES + 0.3)), layout="constrained")
    axes = figure.subplots(down, 2 * across, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for number, (image, shares, title) in enumerate(zip(images, relevance, titles, strict=True)):
        row, column = divmod(number, across)
        plain, covered = axes[row, 2 * column], axes[row, 2 * column + 1]
        put(plain.set_title, title, fontsize=9, loc="left")
        _show(plain, image)
        _show(covered, image)
        height, width = image.shape[:2]
        covered.imshow(
            shares, cmap="inferno", alpha=0.65, extent=(-0.5, width - 0.5, height - 0.5, -0.5),
            interpolation="bilinear",
        )  # fmt: skip
    return figure


def _show(axis: Any, image: np.ndarray[Any, Any]) -> None:
    if image.shape[-1] < 3:
        axis.imshow(image[..., 0], cmap="gray", vmin=0, vmax=255)
    else:
        axis.imshow(image[..., :3])
