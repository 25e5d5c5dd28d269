"""The learning-rate range test as a picture."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from tf_transformer.plots.fonts import put
from tf_transformer.plots.style import COLOURS


def rate_range_figure(
    rates: Sequence[float],
    losses: Sequence[float],
    smoothed: Sequence[float],
    *,
    suggested: float | None,
    title: str = "",
) -> Figure:
    """Draws the loss over the rate, on a logarithmic axis, and marks the suggested rate.

    Args:
        rates: The rate of each update.
        losses: The loss of each update.
        smoothed: The smoothed loss of each update.
        suggested: The rate to mark, or None for none.
        title: Stands above the picture.
    """
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(rates, losses, color="0.75", linewidth=1, label="loss of a batch")
    axes.plot(rates, smoothed, color=COLOURS[0], linewidth=2, label="smoothed")
    if suggested is not None:
        axes.axvline(suggested, color=COLOURS[1], linestyle="--", label=f"suggested: {suggested:.2g}")
    axes.set_xscale("log")
    axes.set_xlabel("learning rate")
    axes.set_ylabel("loss (nats)")
    put(axes.set_title, title)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
