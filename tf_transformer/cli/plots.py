"""The verb that draws pictures: ``plot``, with one word for each kind."""

from collections.abc import Callable
from typing import Any

import typer

from tf_transformer.cli import recipe_pictures, run_pictures

plot = typer.Typer(
    help="Draw a picture, as PNG or SVG.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
_KINDS: dict[str, Callable[..., Any]] = {
    "curves": run_pictures.curves,
    "attention": run_pictures.attention,
    "confusion": run_pictures.confusion,
    "rollout": run_pictures.rollout,
    "schedule": recipe_pictures.schedule,
    "lr-range": recipe_pictures.lr_range,
    "positions": recipe_pictures.positions,
    "lengths": recipe_pictures.lengths,
}
for _name, _draw in _KINDS.items():
    plot.command(_name)(_draw)


@plot.callback()
def _plot() -> None:
    """Holds the kinds of pictures together."""
