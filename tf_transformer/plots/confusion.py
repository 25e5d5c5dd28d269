"""The confusion matrix of a classifier as a picture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tf_transformer.plots.fonts import lettering, put
from tf_transformer.plots.style import LARGEST, SHARES

_MOST_NUMBERED = 40
"""Labels beyond which numbers in cells could not be read."""
_CELL = 0.42


def confusion_figure(confusion: np.ndarray[Any, Any], labels: Sequence[str], title: str = "") -> Figure:
    """Draws how often the label of a row was answered by that of a column.

    The colour of a cell is its share of the row, so that rare classes can be read as well as common ones.

    Args:
        confusion: Counts, integers `[labels, labels]`.
        labels: Names of rows and columns.
        title: Stands above the picture.

    Raises:
        ValueError: If the matrix is not square, or its size is not the number of labels.
    """
    size = len(labels)
    if confusion.shape != (size, size) or not size:
        raise ValueError(
            "`confusion` must have one row and one column for each of `labels`. "
            f"Received: shape {confusion.shape} for {size} labels"
        )
    names = lettering(labels)
    shares = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    inches = min(2.6 + _CELL * size + 0.07 * max(len(label) for label in names.texts), LARGEST)
    points = min(10.0, 0.8 * 72 * LARGEST / size)
    figure = Figure(figsize=(inches + 0.8, inches), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap=SHARES, vmin=0.0, vmax=1.0)
    figure.colorbar(image, ax=axes, shrink=0.7, label="share of the row")
    axes.set_xticks(range(size), labels=names.texts, rotation=90, fontsize=points, **names.style)
    axes.set_yticks(range(size), labels=names.texts, fontsize=points, **names.style)
    axes.set_xlabel("answer")
    axes.set_ylabel("label")
    put(axes.set_title, title)
    if size <= _MOST_NUMBERED:
        _write_counts(axes, confusion, shares)
    return figure


def _write_counts(axes: Any, confusion: np.ndarray[Any, Any], shares: np.ndarray[Any, Any]) -> None:
    for row, column in zip(*np.nonzero(confusion), strict=True):
        colour = "white" if shares[row, column] > 0.5 else "black"
        count = f"{confusion[row, column]:,}"
        axes.text(column, row, count, ha="center", va="center", fontsize=8, color=colour)
