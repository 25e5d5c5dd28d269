"""How long examples are, as a picture."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tf_transformer.plots.fonts import add_legend, put
from tf_transformer.plots.style import line_styles

_MOST_BARS = 60
_REST = 99.5
"""Percent of the examples that the axis is made for, where a few are far longer."""


def lengths_figure(
    lengths: Mapping[str, Sequence[int] | np.ndarray[Any, Any]],
    title: str = "",
    *,
    limits: Mapping[str, int] | None = None,
    unit: str = "pieces",
) -> Figure:
    """Draws how many examples have which length.

    Args:
        lengths: Those of all examples, by name: of the source and of the target, say.
        title: Stands above the picture.
        limits: The longest that a recipe takes, by the same names.
        unit: What lengths are counted in.

    Raises:
        ValueError: If there is nothing to count.
    """
    given = {name: np.asarray(values) for name, values in lengths.items()}
    if not given or not all(values.size for values in given.values()):
        sizes = {name: values.size for name, values in given.items()}
        raise ValueError(f"`lengths` must have a length under each of one or more names. Received: {sizes}")
    longest = max(int(values.max()) for values in given.values())
    usual = max(int(np.percentile(values, _REST)) for values in given.values())
    end = longest if longest <= 2 * usual else 2 * usual
    edges = np.arange(0, end + 2, -(-(end + 1) // _MOST_BARS)) - 0.5
    edges = edges if edges[-1] > end else np.append(edges, edges[-1] + edges[1] - edges[0])
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for (name, values), (colour, line) in zip(given.items(), line_styles(len(given)), strict=True):
        counts, _ = np.histogram(np.minimum(values, end), edges)
        axes.stairs(counts, edges, fill=True, color=colour, alpha=0.18)
        axes.stairs(
            counts, edges, color=colour, linestyle=line, linewidth=1.6, label=_described(name, values)
        )
        limit = (limits or {}).get(name)
        if limit is not None and limit <= end:
            label = f"longest {name} that is taken: {limit:,}"
            axes.axvline(limit + 0.5, color=colour, linestyle=":", label=label)
    axes.set(xlabel=f"{unit}{' (the last bar: longer ones too)' if end < longest else ''}", ylabel="examples")
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    put(axes.set_title, title)
    add_legend(axes)
    return figure


def _described(name: str, values: np.ndarray[Any, Any]) -> str:
    middle, most = np.percentile(values, [50, 95])
    return f"{name}: half up to {middle:,.0f}, 95 % up to {most:,.0f}, longest {values.max():,}"
