"""What TensorBoard is told of a whole training, gathered from its recipe, its data and its model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from tf_transformer.callbacks.board.pictures import Draw
from tf_transformer.callbacks.board.projector import Embeddings
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.layers import PositionalEncoding
from tf_transformer.precision import measured_peak
from tf_transformer.recipe import Recipe, differences, dump_recipe

POSITIONS = 100
"""Positions that a picture of their vectors shows."""
RATES = 500
"""Updates whose rates make the picture of a schedule."""
UPDATES = 10_000
"""Updates that it goes up to, where only minutes end a training."""


@dataclass(frozen=True)
class About:
    """What TensorBoard shows of a whole run.

    Args:
        name: The run's.
        recipe: As resolved, in YAML.
        values: Those of its values that are no defaults, by key.
        report: What was read, kept and dropped, in lines.
        lengths: Lengths of the training examples, by column.
        pictures: Drawn once, by tag.
        embeddings: Gives the vectors of tokens.
        measure_peak: Measures the operations a second that the device reaches.
    """

    name: str = "run"
    recipe: str = ""
    values: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    report: Sequence[str] = ()
    lengths: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    pictures: Mapping[str, Draw] = field(default_factory=dict)
    embeddings: Embeddings = dict
    measure_peak: Callable[[], float] | None = None


def about_run(
    name: str,
    recipe: Recipe,
    report: Sequence[str],
    encoded: EncodedCorpus,
    model: Any,
    rate: Callable[[Any], Any],
    batches: int,
    embeddings: Embeddings,
) -> About:
    """All of it.

    Args:
        name: The run's.
        recipe: As resolved.
        report: What was read, kept and dropped, in lines.
        encoded: The training data.
        model: The model in training.
        rate: The learning rate by the number of updates before.
        batches: Updates of an epoch.
        embeddings: Gives the vectors of tokens as they are then.
    """
    training = recipe.training
    last = training.steps or (training.epochs * batches if training.epochs else UPDATES)
    return About(
        name=name,
        recipe=dump_recipe(recipe),
        values=differences(recipe),
        report=report,
        lengths=encoded.lengths,
        pictures={
            "views/schedule": lambda: _schedule(rate, last),
            **({"views/lengths": lambda: _lengths(encoded)} if encoded.lengths else {}),
            **_positions(model),
        },
        embeddings=embeddings,
        measure_peak=lambda: measured_peak(training.precision),
    )


def _schedule(rate: Callable[[Any], Any], last: int) -> Any:
    from tf_transformer.plots.schedule import schedule_figure

    updates = np.unique(np.linspace(1, last, RATES).astype(np.int64))
    rates = [float(rate(tf.constant(update - 1))) for update in updates]
    return schedule_figure(rates, updates)


def _lengths(encoded: EncodedCorpus) -> Any:
    from tf_transformer.plots.lengths import lengths_figure

    return lengths_figure(encoded.lengths)


def _positions(model: Any) -> dict[str, Callable[[], Any]]:
    """Pictures of the vectors of positions, of a model that adds some, by tag."""
    found: dict[str, PositionalEncoding] = {}
    for owner in (getattr(model, "embedding", None), model):
        for name, layer in vars(owner).items() if owner is not None else ():
            if not isinstance(layer, PositionalEncoding) or (vectors := layer.encodings(1)) is None:
                continue
            # Of both sides' formulas, which are one where the widths are, one picture is enough.
            alike = [one for one in found.values() if one.kind == layer.kind != "learned"]
            if ops.shape(vectors) not in [ops.shape(one.encodings(1)) for one in alike]:
                found["source" if owner is not model else name.removesuffix("_positions")] = layer
    return {f"views/positions_{name}": _drawn(layer) for name, layer in found.items()}


def _drawn(layer: PositionalEncoding) -> Callable[[], Any]:
    def draw() -> Any:
        from tf_transformer.plots.positions import positions_figure

        return positions_figure(np.asarray(layer.encodings(POSITIONS)))

    return draw
