"""What a model looks at, as a picture: a square for each pair of tokens, a panel for each head."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tf_transformer.plots.fonts import Lettering, lettering, put
from tf_transformer.plots.style import LARGEST, SHARES, every

_CELL = 0.17
_SMALLEST, _WIDEST = 1.5, 4.6
"""Inches of a side of a panel."""
_SHEET = 15.0
"""Inches that panels stand beside each other in."""
_POINTS = 7.0
_AS_SEEN = {" ": "␣", "\n": "↵", "\t": "⇥"}
"""How pieces that are nothing but white space are written."""


def attention_figure(
    weights: np.ndarray[Any, Any],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    title: str = "",
    *,
    names: Sequence[str] | None = None,
) -> Figure:
    """Draws attention weights: of each row, how much it looks at each column.

    Args:
        weights: `[heads, target, source]`, shares from 0 to 1 of which each row sums to 1.
        source_tokens: What is looked at, left to right.
        target_tokens: What looks, from top to bottom; those of the source for self-attention.
        title: Stands above the picture.
        names: What each head is called; by default ``head 1`` and so on. Before several heads their average
            is drawn.

    Raises:
        ValueError: If the numbers of heads and tokens are not those of the weights, or one is 0.
    """
    weights = np.asarray(weights, np.float64)
    names = [f"head {number + 1}" for number in range(len(weights))] if names is None else list(names)
    expected = (len(names), len(target_tokens), len(source_tokens))
    if weights.shape != expected or not weights.size:
        raise ValueError(
            "`weights` must have a row for each target token and a column for each source token, and some of "
            f"each. Received: shape {weights.shape} for {expected[1]} target and {expected[2]} source tokens"
        )
    if len(weights) > 1:
        weights, names = np.concatenate([weights.mean(axis=0, keepdims=True), weights]), ["average", *names]
    rows, columns = _as_seen(target_tokens), _as_seen(source_tokens)
    across, down, width, height = _layout(len(names), len(rows.texts), len(columns.texts))
    margin = 0.09 * max(len(token) for token in (*rows.texts, *columns.texts)) + 0.6
    size = (across * (width + 0.25) + margin + 0.9, down * (height + 0.35) + margin + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(down, across, squeeze=False)
    for place, (axes, name, shares) in enumerate(zip(panels.flat, names, weights, strict=False)):
        image = axes.imshow(shares, cmap=SHARES, vmin=0.0, vmax=weights.max(), aspect="auto")
        axes.set_xlabel(name, fontsize=9)
        _ticks(axes.set_xticks, columns, width, shown=place < across, rotation=90)
        _ticks(axes.set_yticks, rows, height, shown=place % across == 0)
        axes.tick_params(
            top=place < across, labeltop=place < across, bottom=False, labelbottom=False, length=2
        )
    for axes in panels.flat[len(names) :]:
        axes.set_axis_off()
    figure.colorbar(image, ax=panels, shrink=min(1.0, 2.5 / size[1]), label="share of attention", pad=0.01)
    put(figure.suptitle, title, fontsize=10)
    return figure


def _layout(panels: int, rows: int, columns: int) -> tuple[int, int, float, float]:
    """How many panels stand beside and below each other, and how wide and high each of them is."""
    width, height = (min(max(_CELL * count, _SMALLEST), _WIDEST) for count in (columns, rows))
    down = math.ceil(panels / max(int(_SHEET / (width + 0.3)), 1))
    return math.ceil(panels / down), down, width, min(height, LARGEST / down - 0.4)


def _as_seen(tokens: Sequence[str]) -> Lettering:
    shown = ("".join(_AS_SEEN.get(char, char) for char in token) for token in tokens)
    return lettering(token or "∅" for token in shown)


def _ticks(write: Any, tokens: Lettering, inches: float, shown: bool, **style: Any) -> None:
    step = every(len(tokens.texts), inches, _POINTS)
    labels = tokens.texts[::step] if shown else [""] * len(tokens.texts[::step])
    write(range(0, len(tokens.texts), step), labels=labels, fontsize=_POINTS, **tokens.style, **style)
