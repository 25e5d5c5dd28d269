"""A model that trains as a callback sees it: counters that a test sets."""

from types import SimpleNamespace

import keras
import pytest

from tf_transformer.models import Transformer


class Training:
    """Stands for a compiled ``TrainingModel`` between two updates."""

    def __init__(self) -> None:
        self.stop_training = False
        self.average = None
        self.counted = Transformer.COUNTS
        names = ("loss_sum", *self.counted, "gradient_norm_sum", "updates", "skipped")
        self.sums = dict.fromkeys(names, 0.0)
        iterations = keras.Variable(0, dtype="int64", name="iterations")
        self.optimizer = SimpleNamespace(iterations=iterations, learning_rate=0.25, variables=[iterations])
        self.model = SimpleNamespace(weights=[keras.Variable([1.0, 2.0], name="kernel")])
        self.variables = [*self.model.weights]

    def interval(self) -> dict[str, float]:
        return dict(self.sums)

    def clear_interval(self) -> None:
        self.sums = dict.fromkeys(self.sums, 0.0)


@pytest.fixture
def training() -> Training:
    """A model in training."""
    return Training()
