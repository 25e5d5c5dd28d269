"""What evaluating a set means, whatever the task."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tf_transformer.evaluation.signs import Sign

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Advance = Callable[[int], None]
"""Told how many more examples are done."""
Pictures = Mapping[str, Callable[[], "Figure"]]
"""What can be drawn, by tag; a picture shows the model as it is when it is asked for."""


@dataclass(frozen=True)
class Sample:
    """One example as the model answers it now."""

    source: str
    reference: str
    output: str
    score: float | None = None
    """How good it is by itself, from 0 to 100, where there is such a thing."""


@dataclass(frozen=True)
class EvaluationSet:
    """A dev or test set.

    Args:
        name: What its figures are called by; empty for one that was given on the command line.
        columns: What its examples are, by column: ``source`` and ``target`` of sentences, say.
        batches: The same examples as ``(inputs, labels)`` for the model, each exactly once; empty where an
            evaluator has no need of them.
    """

    name: str
    columns: Mapping[str, Sequence[Any]]
    batches: Sequence[Any] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


@dataclass(frozen=True)
class Evaluated:
    """What was found out about one set.

    Args:
        figures: By name, without a prefix that says of which set.
        brief: The figures that a person wants first, on one line.
        signatures: What makes a figure comparable, by the figure's name.
        lines: All that a person wants to know, after a line that names the set.
        answers: The answer to each example, on one line each, where the task has such.
        samples: Some examples with their answers.
        pictures: What can be drawn of it.
    """

    figures: dict[str, float]
    brief: str = ""
    signatures: dict[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    answers: Sequence[str] = ()
    samples: Sequence[Sample] = ()
    pictures: Pictures = field(default_factory=dict)


class Evaluator(ABC):
    """Evaluates a task on sets, by the weights that its model has at the time."""

    @abstractmethod
    def quick(self, found: EvaluationSet) -> Evaluated:
        """What each validation in training measures, with samples."""

    def of_training(self, batches: Sequence[Any]) -> dict[str, float]:
        """Perplexity and accuracy on some batches of training, as ``quick`` has them of a dev set.

        Args:
            batches: As ``(inputs, labels)`` for the model.

        Returns:
            ``perplexity`` and ``accuracy``; nothing where the task has no such figures.
        """
        return {}

    def signs(self, found: EvaluationSet, evaluated: Evaluated) -> Iterator[Sign]:
        """What the answers of ``quick`` say of a training that goes wrong; nothing where there is no such.

        Args:
            found: The set.
            evaluated: What ``quick`` has found out about it.
        """
        return iter(())

    def choosing(self, found: EvaluationSet) -> Evaluated:
        """The figures of ``quick`` as the finished model has them, by which dev chooses a checkpoint."""
        return self.quick(found)

    @abstractmethod
    def full(self, found: EvaluationSet, advance: Advance | None = None) -> Evaluated:
        """All that there is to say of a test set."""
