"""What tells positions apart, as a picture: the table, and how alike its rows are."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tf_transformer.plots.fonts import put
from tf_transformer.plots.style import LIKENESS, SIGNED


def positions_figure(
    table: np.ndarray[Any, Any], title: str = "", *, rows: str = "position", columns: str = "dimension",
    first: int = 0,
) -> Figure:  # fmt: skip
    """Draws a table of positions, and beside it the cosine of the angle between each two of its rows.

    Args:
        table: `[length, width]`, the vector of each position.
        title: Stands above the picture.
        rows: What a row is.
        columns: What a column is.
        first: The number of the first row.

    Raises:
        ValueError: If it is no table, or an empty one.
    """
    table = np.asarray(table, np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"`table` must have rows and columns. Received: shape {table.shape}")
    length, width = table.shape
    last = first + length
    figure = Figure(figsize=(11.5, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    most = float(np.abs(table).max()) or 1.0
    edges = (-0.5, width - 0.5, last - 0.5, first - 0.5)
    image = left.imshow(
        table, cmap=SIGNED, vmin=-most, vmax=most, aspect="auto", extent=edges, interpolation="nearest"
    )
    figure.colorbar(image, ax=left, label="value")
    left.set(xlabel=columns, ylabel=rows, title="what each vector is")
    edges = (first - 0.5, last - 0.5, last - 0.5, first - 0.5)
    likeness = cosines(table)
    image = right.imshow(
        likeness,
        cmap=LIKENESS,
        vmin=min(likeness.min(), 0.0),
        vmax=1.0,
        extent=edges,
        interpolation="nearest",
    )
    figure.colorbar(image, ax=right, label="cosine")
    right.set(xlabel=rows, ylabel=rows, title="how alike each two are")
    put(figure.suptitle, title)
    return figure


def cosines(table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The cosine of the angle between each two rows, `[length, length]`; 0 where one is nothing but zeros."""
    norms = np.linalg.norm(table, axis=1, keepdims=True)
    unit = table / np.where(norms > 0, norms, 1.0)
    return np.asarray(unit @ unit.T)
