"""Whether a classifier is as sure as it is right, as a picture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tf_transformer.plots.fonts import add_legend, put
from tf_transformer.plots.style import COLOURS


def calibration_figure(
    confidence: Sequence[float] | np.ndarray[Any, Any],
    accuracy: Sequence[float] | np.ndarray[Any, Any],
    counts: Sequence[int] | np.ndarray[Any, Any],
    title: str = "",
) -> Figure:
    """Draws the accuracy of answers of about the same confidence over it, and how many there are of them.

    Args:
        confidence: The mean confidence of the answers of each bin, from 0 to 1.
        accuracy: The share of them that is right.
        counts: How many they are; bins without any are left out.
        title: Stands above the picture.

    Raises:
        ValueError: If the three are not equally many, or there is no answer.
    """
    sure, right, counts = np.asarray(confidence), np.asarray(accuracy), np.asarray(counts)
    if not sure.shape == right.shape == counts.shape or counts.sum() < 1:
        raise ValueError(
            "`confidence`, `accuracy` and `counts` must be equally many, and some must be counted. "
            f"Received: shapes {sure.shape}, {right.shape} and {counts.shape}, of {counts.sum()} answers"
        )
    sure, right, counts = (values[counts > 0] for values in (sure, right, counts))
    error = float((counts * np.abs(sure - right)).sum() / counts.sum())
    figure = Figure(figsize=(5.2, 6), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[3, 1], sharex=True)
    above.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="as sure as right")
    label = f"the answers: {error:.1%} between, on average"
    above.plot(sure, right, "o-", color=COLOURS[0], markersize=5, linewidth=1.5, label=label)
    above.vlines(sure, np.minimum(sure, right), np.maximum(sure, right), color=COLOURS[1], linewidth=2)
    above.set(ylabel="share of them that is right", xlim=(0, 1), ylim=(0, 1.02))
    below.bar(sure, counts, width=0.02, color=COLOURS[0])
    below.set(xlabel="how sure answers are", ylabel="answers")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    put(above.set_title, title)
    add_legend(above, loc="upper left")
    return figure
