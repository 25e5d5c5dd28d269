"""The learning rate over the updates as a picture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tf_transformer.plots.fonts import add_legend, put
from tf_transformer.plots.style import COLOURS


def schedule_figure(
    rates: Sequence[float] | np.ndarray[Any, Any],
    updates: Sequence[int] | np.ndarray[Any, Any] | None = None,
    title: str = "",
) -> Figure:
    """Draws the learning rate over the updates, with its highest value and its last one.

    Args:
        rates: The rate of each update.
        updates: Their numbers; by default from 1.
        title: Stands above the picture.

    Raises:
        ValueError: If there is no rate, or not one for each update.
    """
    rates = np.asarray(rates, np.float64)
    updates = np.arange(1, len(rates) + 1) if updates is None else np.asarray(updates)
    if rates.ndim != 1 or rates.shape != updates.shape or not rates.size:
        raise ValueError(
            "`rates` must be one for each of `updates`, and at least one. "
            f"Received: shapes {rates.shape} and {updates.shape}"
        )
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(updates, rates, color=COLOURS[0], linewidth=2)
    highest, last = int(rates.argmax()), len(rates) - 1
    marks = [(highest, COLOURS[1], "highest", "o"), (last, COLOURS[2], "last", "s")]
    for place, colour, word, marker in marks if highest != last else marks[:1]:
        label = f"{word}: {rates[place]:.3g} at update {updates[place]:,}"
        axes.plot(updates[place], rates[place], marker, color=colour, label=label, clip_on=False)
    axes.set(xlabel="update", ylabel="learning rate")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useMathText=False)
    put(axes.set_title, title)
    add_legend(axes)
    return figure
