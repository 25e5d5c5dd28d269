"""What validations said over a training, as a picture; of several runs beside each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tf_transformer.plots.fonts import lettering, put
from tf_transformer.plots.style import line_styles

Rows = Sequence[Mapping[str, Any]]
"""The objects of ``metrics.jsonl``."""


@dataclass(frozen=True)
class Panel:
    """One chart.

    Args:
        title: What is drawn, with its unit.
        figure: Its name in the rows.
        beside: Another figure on the same axis, drawn thin: the training loss beside that of dev.
        best: Whether the best point is marked: the ``"highest"`` or the ``"lowest"``.
    """

    title: str
    figure: str
    beside: str | None = None
    best: str | None = None


def curves_figure(
    runs: Mapping[str, Rows], panels: Sequence[Panel], title: str = "", *, over: str = "step"
) -> Figure:
    """Draws a chart for each panel, and in it a curve for each run.

    Args:
        runs: The rows of each run by its name.
        panels: What is drawn; one for which no run has a number is left out.
        title: Stands above the picture.
        over: What the charts are drawn over: ``"step"`` or ``"seconds"``.

    Raises:
        ValueError: If no run has a number for any panel.
    """
    drawn = [
        panel for panel in panels if any(_points(rows, panel.figure, over)[0].size for rows in runs.values())
    ]
    if not drawn:
        names = ", ".join(panel.figure for panel in panels)
        raise ValueError(f"`runs` must have numbers for a panel. Received: none of {names or 'no panel'}")
    across = min(2, len(drawn))
    down = -(-len(drawn) // across)
    room = 0.24 * (len(runs) + 1)
    figure = Figure(figsize=(6 * across, 3.1 * down + room), layout="constrained")
    charts = figure.subplots(down, across, squeeze=False)
    styles = line_styles(len(runs))
    # Curves that lie upon each other are all to be seen.
    widths = np.linspace(2.8, 1.2, len(runs)) if len(runs) > 1 else [1.8]
    for axes, panel in zip(charts.flat, drawn, strict=False):
        for rows, (colour, line), thickness in zip(runs.values(), styles, widths, strict=True):
            _draw(axes, rows, panel, over, {"color": colour, "linestyle": line, "linewidth": thickness})
        put(axes.set_title, panel.title, fontsize=10)
        axes.set_xlabel("update" if over == "step" else "minutes")
        axes.grid(alpha=0.3)
    for axes in charts.flat[len(drawn) :]:
        axes.set_axis_off()
    _name_the_runs(figure, [_described(name, runs[name], drawn, over) for name in runs], styles, drawn)
    put(figure.suptitle, title)
    return figure


def _draw(axes: Any, rows: Rows, panel: Panel, over: str, style: dict[str, Any]) -> None:
    places, values = _points(rows, panel.figure, over)
    axes.plot(places, values, marker="." if len(values) <= 30 else "", **style)
    if panel.beside is not None:
        axes.plot(*_points(rows, panel.beside, over), **style | {"linewidth": 0.8, "alpha": 0.7})
    best = _best(panel, places, values)
    if best is not None:
        axes.plot(*best, "o", color=style["color"], markersize=8, fillstyle="none")


def _best(
    panel: Panel, places: np.ndarray[Any, Any], values: np.ndarray[Any, Any]
) -> tuple[float, float] | None:
    """Where the best value of a curve lies, and which it is; None where none is asked for."""
    if panel.best is None or not values.size:
        return None
    best = int(values.argmax() if panel.best == "highest" else values.argmin())
    return float(places[best]), float(values[best])


def _points(rows: Rows, figure: str, over: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Where a figure has a number, and which; null stands for one that was not finite."""
    found = [
        (row[over], row[figure]) for row in rows if row.get(figure) is not None and row.get(over) is not None
    ]
    table = np.array(found, np.float64).reshape(-1, 2)
    return table[:, 0] / (60.0 if over == "seconds" else 1.0), table[:, 1]


def _described(name: str, rows: Rows, panels: Sequence[Panel], over: str) -> str:
    """A run's name with the best values that are marked."""
    bests = ((panel, _best(panel, *_points(rows, panel.figure, over))) for panel in panels)
    told = [f"{panel.title.partition(' (')[0]} {best[1]:.4g}" for panel, best in bests if best is not None]
    return f"{name}: best {', '.join(told)}" if told else name


def _name_the_runs(figure: Figure, labels: list[str], styles: Any, panels: Sequence[Panel]) -> None:
    """One legend for all charts, below them."""
    handles = [Line2D([], [], color=colour, linestyle=line, linewidth=1.8) for colour, line in styles]
    if any(panel.beside for panel in panels):
        handles.append(Line2D([], [], color="0.4", linewidth=0.8))
        labels = [*labels, "thin: on the training data"]
    found = lettering(labels)
    columns = max(1, min(len(labels), 200 // (max(map(len, labels)) + 9)))
    legend = figure.legend(handles, found.texts, loc="outside lower center", ncols=columns, fontsize=9)
    for text in legend.get_texts():
        text.set(**found.style)
