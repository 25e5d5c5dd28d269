"""The charts of TensorBoard's Custom Scalars: training against dev in one, and what belongs together."""

from collections.abc import Sequence

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
        "gradient by part": ["update/gradient_norm", "gradient_norm/.*"],
    },
    "how fast": {
        "a second": ["speed/.*_per_second"],
        "milliseconds of an update": ["speed/step", "speed/input_wait"],
        "padding": ["padding/.*"],
    },
}
"""Categories, their charts, and the tags of each as regular expressions."""


def layout() -> bytes:
    """The summary that TensorBoard takes the charts from."""
    categories = [
        layout_pb2.Category(
            title=title,
            chart=[
                layout_pb2.Chart(
                    title=name, multiline=layout_pb2.MultilineChartContent(tag=[f"^{tag}$" for tag in tags])
                )
                for name, tags in charts.items()
            ],
        )
        for title, charts in CHARTS.items()
    ]
    summary: bytes = custom_scalars.pb(layout_pb2.Layout(category=categories)).SerializeToString()
    return summary
