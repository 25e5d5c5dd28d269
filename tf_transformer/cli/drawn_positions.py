"""What a recipe or a run has to tell positions apart, as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from keras import ops

from tf_transformer.build import load_run
from tf_transformer.ops.positions import (
    distance_penalties,
    index_positions,
    rotate,
    sinusoidal_grid_positions,
    sinusoidal_positions,
)
from tf_transformer.plots.attention import attention_figure
from tf_transformer.plots.positions import positions_figure
from tf_transformer.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def positions_of(recipe: Recipe, run: Path | None, length: int, name: str) -> "Figure":
    """The picture of a recipe's positions.

    Args:
        recipe: A resolved recipe, with positions.
        run: The run whose positions are learnt; None where they follow from the recipe.
        length: How many positions are drawn.
        name: Of the recipe or the run.
    """
    model: Any = recipe.model
    kind, width = model.positions, model.hidden_dim
    title = f"{name}: {kind} positions"
    if kind in ("learned", "relative"):
        assert run is not None  # refused before
        return _learned(load_run(run).task.model, kind, length, title)
    if kind == "alibi":
        places = ops.arange(length)
        penalties = distance_penalties(places, places, model.num_heads)
        shares = ops.convert_to_numpy(ops.softmax(-penalties, axis=-1))
        labels = list(map(str, range(length)))
        return attention_figure(shares, labels, labels, f"{title}: attention where all scores are equal")
    places = ops.arange(length)
    if recipe.task == "classify_images":
        side = max(int(length**0.5), 1)
        table, title = sinusoidal_grid_positions(side, side, width), f"{title} of {side} x {side} places"
    elif kind == "rotary":
        heads = ops.ones((length, width // model.num_heads), "float32")
        table, title = rotate(heads, places), f"{title}: a vector of ones, turned"
    else:
        table = (sinusoidal_positions if kind == "sinusoidal" else index_positions)(places, width)
    return positions_figure(ops.convert_to_numpy(table), title)


def _learned(model: Any, kind: str, length: int, title: str) -> "Figure":
    """Those of the first layer that has some: the encoder's, where there is one."""
    end = "key_table" if kind == "relative" else "positions/table"
    table = next(np.asarray(weight) for weight in model.weights if weight.path.endswith(end))
    if kind == "learned":
        return positions_figure(table[:length], title)
    title = f"{title}, of keys in the first layer"
    return positions_figure(table, title, rows="distance", first=-(len(table) // 2))
