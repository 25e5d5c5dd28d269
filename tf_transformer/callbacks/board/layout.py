"""The charts of TensorBoard's Custom Scalars: training against dev in one, and what belongs together."""

import re
from collections.abc import Collection, Sequence

from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom_scalars

CHARTS: dict[str, dict[str, Sequence[str]]] = {
    "train against dev": {
        "loss": ["quality/loss"],
        "perplexity": ["quality/perplexity"],
        "accuracy": ["quality/accuracy"],
    },
    "is it healthy": {
        "learning rate": ["update/learning_rate"],
        "change of the weights by part": ["update/ratio", "update_ratio/.*"],
        "gradient by part": ["update/gradient_norm", "update_gradient/.*"],
    },
    "how fast": {
        "a second": ["speed/.*_per_second"],
        "milliseconds of an update": ["speed/step", "speed/input_wait"],
        "padding": ["usage/.*_padding"],
        "memory": ["usage/.*_memory"],
    },
}
"""Categories, their charts, and the tags of each as regular expressions."""


def layout(written: Collection[str]) -> bytes:
    """The summary that TensorBoard takes the charts from.

    Args:
        written: The tags that there are: a chart without any is left out.
    """
    categories = []
    for title, charts in CHARTS.items():
        kept = {name: tags for name, tags in charts.items() if _any(tags, written)}
        chart = [
            layout_pb2.Chart(
                title=name, multiline=layout_pb2.MultilineChartContent(tag=[f"^{tag}$" for tag in tags])
            )
            for name, tags in kept.items()
        ]
        categories += [layout_pb2.Category(title=title, chart=chart)] if chart else []
    summary: bytes = custom_scalars.pb(layout_pb2.Layout(category=categories)).SerializeToString()
    return summary


def _any(tags: Sequence[str], written: Collection[str]) -> bool:
    return any(re.fullmatch(tag, one) for tag in tags for one in written)
