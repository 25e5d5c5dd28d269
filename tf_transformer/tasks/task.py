"""What every task can do beside its own verb: be saved as a SavedModel, and say how one is tried."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import tensorflow as tf

Inputs = Mapping[str, Sequence[Any]]
"""The arguments of one call of a signature, by name: text, bytes or numbers, one an example."""


@dataclass(frozen=True)
class Call:
    """Calls of one signature.

    Args:
        signature: Its name.
        batches: The arguments of each call.
        check: Told of each call's arguments and of what it gave, plain values by name.

    ``check`` raises an `ExportError` where an answer is not what it must be; it names the example and both.
    """

    signature: str
    batches: Sequence[Inputs]
    check: Callable[[Inputs, Mapping[str, Any]], None]


@dataclass(frozen=True)
class Trial:
    """How a SavedModel of a task is tried.

    Args:
        calls: What is called, and what it must give.
        summary: How much that is, for the manifest.
    """

    calls: Sequence[Call]
    summary: dict[str, Any]


class Task(Protocol):
    """A model, its text or image side and its search: a ``tf.Module``, see `TaskModule`.

    Attributes:
        TASK: The recipe's name of it, such as ``translate``.
        SIGNATURES: The names of the functions of ``served`` that a SavedModel offers.
        model: The model; its weights may be replaced.
        weights: Its weights, as graphs read them.
    """

    TASK: str
    SIGNATURES: tuple[str, ...]
    model: Any
    weights: "ModelWeights"

    @property
    def side(self) -> Any:
        """What turns strings or images into what the model takes."""

    @property
    def custom_ops(self) -> tuple[str, ...]:
        """Operations in the graph that core TensorFlow lacks; ``import tensorflow_text`` brings them."""

    def served(self) -> tf.Module:
        """Has, as attributes, the functions of ``SIGNATURES``."""

    def export(self, folder: str | Path) -> tuple[str, ...]:
        """Writes a SavedModel; returns the names of its signatures."""

    def manifest_facts(self) -> dict[str, Any]:
        """Fields of an export's manifest that the task knows: sizes of vocabularies, labels."""

    def trial(self, samples: Sequence[Any]) -> Trial:
        """How a SavedModel of this task is tried, on samples and on odd examples beside."""

    def probe(self, samples: Sequence[Any]) -> Callable[[], np.ndarray[Any, Any]]:
        """Looks at numbers that answers to samples hang on, with the weights that the model has then."""


class ModelWeights:
    """The weights of a model, as graphs read them and as a SavedModel holds them.

    Args:
        model: The model.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def variables(self) -> list[Any]:
        """Keras' variables of the model."""
        return list(self.model.variables)

    @property
    def held(self) -> Sequence[Any]:
        """What a SavedModel tracks.

        TensorFlow's own variables and not Keras', of which a graph of TensorFlow 1, as TensorFlow Serving
        loads it, would have two of each: one that is restored and another one that is read.
        """
        return [variable.value for variable in self.variables]

    def reading(self) -> AbstractContextManager[Any]:
        """Entered by whoever runs the model inside a graph, in the graph that many may call."""
        return nullcontext()


class TaskModule(tf.Module):
    """What every task is made of.

    Args:
        name: Of the module.
        model: The model.
        preprocessor: The text or image side that it was trained with; has ``custom_ops``.
    """

    SIGNATURES: ClassVar[tuple[str, ...]]

    def __init__(self, name: str, model: Any, preprocessor: Any) -> None:
        super().__init__(name=name)
        self.model = model
        self.weights = ModelWeights(model)
        self.preprocessor = preprocessor

    @property
    def side(self) -> Any:
        """The preprocessor, under the name that it has in every task."""
        return self.preprocessor

    @property
    def custom_ops(self) -> tuple[str, ...]:
        """See `Task`."""
        ops: tuple[str, ...] = self.preprocessor.custom_ops
        return ops

    @abstractmethod
    def served(self) -> tf.Module:
        """See `Task`."""

    def export(self, folder: str | Path) -> tuple[str, ...]:
        """Writes a SavedModel that answers without this package.

        ``tf-transformer export`` does this too, under a version number and verified in a clean process.

        Args:
            folder: Where to; what is there is replaced.

        Returns:
            The names of its signatures.

        Raises:
            TypeError: When ``folder`` is no path.
            ValueError: When it is a file.
        """
        folder = os.fspath(folder)
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise ValueError(f"`folder` must be a folder, or not there yet. Received: {folder}, a file")
        served = self.served()
        # As they were traced: functions that a saved object has as attributes would be traced once more.
        signatures = {name: getattr(served, name).get_concrete_function() for name in self.SIGNATURES}
        root = tf.Module(name="served")
        root.side, root.weights = self.side, self.weights.held
        # Nobody trains what is served; its gradients would double the time of saving.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(root, folder, signatures=signatures, options=options)
        return tuple(signatures)
