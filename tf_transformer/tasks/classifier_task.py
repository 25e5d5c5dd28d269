"""What tasks that give an example one of some labels are made of, whatever the example is."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from tf_transformer.models import Classifier
from tf_transformer.tasks.classification import Answer
from tf_transformer.tasks.task import TaskModule


class ClassifierTask(TaskModule):
    """A classifier and its text or image side.

    Args:
        name: Of the module.
        model: The model.
        preprocessor: What it was trained with; has ``labels`` and ``custom_ops``.

    Raises:
        ValueError: When they have not equally many labels.
    """

    TASK: ClassVar[str]
    SIGNATURES: ClassVar[tuple[str, ...]] = ("serving_default",)

    def __init__(self, name: str, model: Classifier, preprocessor: Any) -> None:
        super().__init__(name, model, preprocessor)
        check_sizes({"labels": (model.num_classes, len(preprocessor.labels))})

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the probabilities."""
        names: tuple[str, ...] = self.preprocessor.labels.names
        return names

    def probe(self, samples: Sequence[Any]) -> Callable[[], np.ndarray[Any, Any]]:
        """See `Task`: the probabilities of all labels."""
        return lambda: np.array([answer.probabilities for answer in self.answers(samples)])

    def logits(self, **inputs: tf.Tensor) -> tf.Tensor:
        """What the model says of a batch, float32 ``[B, C]``, inside a SavedModel's graph."""
        with self.weights.reading():
            return self.model(inputs, training=False)

    @abstractmethod
    def answers(self, examples: Sequence[Any]) -> list[Answer]:
        """The label of each example with its probability, and the probabilities of all labels."""


def check_sizes(pairs: dict[str, tuple[Any, Any]]) -> None:
    """Refuses a model and a preprocessor that do not belong together.

    Args:
        pairs: What the model has and what the preprocessor has, by what it is called.

    Raises:
        ValueError: When they differ.
    """
    for name, (mine, other) in pairs.items():
        if mine != other:
            raise ValueError(
                f"`model` and `preprocessor` must have equally many {name}: they do not belong together. "
                f"Received: {mine} and {other}"
            )
