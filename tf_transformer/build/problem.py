"""What a recipe asks to be learnt: the one thing that the trainer, and every verb, knows of a task.

A task joins its data, its text or image side, its model and its measure here; what runs updates, keeps
checkpoints and writes results has no idea which task it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from tf_transformer.build.origin import Origin, carry, read_origin
from tf_transformer.build.tuning import refuse_still_fresh
from tf_transformer.build.vocabulary_update import (
    SideTokenizer,
    carry_rows,
    update_lines,
    vocabulary_changes,
)
from tf_transformer.build.weights import check_tokenizer
from tf_transformer.checkpoints import Arrays, Checkpoint
from tf_transformer.data.augmented import Augment
from tf_transformer.data.batching import Batch
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import Plan
from tf_transformer.errors import counted
from tf_transformer.evaluation import EvaluationSet, Evaluator, Measure
from tf_transformer.evaluation.signs import Sign
from tf_transformer.recipe import Recipe
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks.task import Task

Heading = tuple[str, str, int, str]
"""A column of the table of validations: figure, heading, width, format."""
_SHOWING = 1000
"""Rows of each corpus that show what an update of the vocabulary does."""
AnyRecipe = TypeVar("AnyRecipe", bound=Recipe)


class Side(Protocol):
    """What turns text or images into what the model takes, in training and in serving alike."""

    def save(self, folder: Path) -> None:
        """Writes it into a folder of its own, ``tokenizer/`` of a run."""

    def assemble(self, **columns: Any) -> Any:
        """Columns of a batch, see `training_dataset`, to ``(inputs, labels)``."""


@dataclass(frozen=True)
class Words:
    """What messages call things.

    Args:
        row: One example: ``pair``.
        data: What is learnt from: ``text``.
        unit: What an update's size is counted in: ``target token``.
        verb: What the finished task does: ``translate``.
        lengths: The keys that bound how long an example may be.
        picture: What is to be seen of a finished one, a word of ``plot``: ``attention`` or ``confusion``.
        reads_files: Whether ``predict`` takes names of files, in place of texts.
        pipeline: What model hubs call the task; None where they have no word for it.
        call: Arguments of an export's ``serving_default``, as an example in Python.
    """

    row: str
    data: str
    unit: str
    verb: str
    lengths: str
    picture: str | None = None
    reads_files: bool = False
    pipeline: str | None = None
    call: str = 'text=tf.constant(["A text."])'


@dataclass(frozen=True)
class Examples:
    """All data of a recipe, read and cleaned.

    Args:
        train: The training corpora, in the recipe's order.
        weights: Times that an epoch takes each of them.
        dev: Dev sets; the first one decides what is best.
        test: Test sets.
        report: Lines for a person: what was read, dropped and noticed in dev and test.
    """

    train: Sequence[Any]
    weights: Sequence[float]
    dev: Sequence[Any]
    test: Sequence[Any]
    report: Sequence[str]

    def reporting(self, lines: Iterable[str]) -> "Examples":
        """The same with more to tell."""
        return replace(self, report=[*self.report, *lines])


class Problem(ABC, Generic[AnyRecipe]):
    """What a recipe asks to be learnt; one subclass a task.

    Args:
        recipe: As resolved. What is found out later, a batch size say, makes another problem.

    Attributes:
        WORDS: What messages call things.
        HEADINGS: The task's columns of the table of validations, between the training loss and the time.
        BUDGET_COLUMN: The column whose positions say how large an update is; None where rows do.
    """

    WORDS: ClassVar[Words]
    HEADINGS: ClassVar[tuple[Heading, ...]]
    BUDGET_COLUMN: ClassVar[str | None]

    def __init__(self, recipe: AnyRecipe) -> None:
        self.recipe = recipe

    # The data and its side.

    @abstractmethod
    def read(self) -> Examples:
        """Reads and cleans all data of the recipe.

        Raises:
            DataError: When a file cannot be read rightly, or nothing usable is left of a set.
        """

    def read_split(self, split: str) -> Examples:
        """As ``read``, but no more than the sets of one split, ``"dev"`` or ``"test"``, need to be there."""
        return self.read()

    @abstractmethod
    def new_side(self, examples: Examples) -> Any:
        """Trains, or reads, what turns the data into ids, as the recipe asks for: a `Side`."""

    def make_side(self, examples: Examples) -> Any:
        """What turns the data into ids: that of the run that training begins from, or a new one."""
        origin = self.origin
        return self.new_side(examples) if origin is None else self.carried_side(origin.side, examples)

    def carried_side(self, side: Any, examples: Examples) -> Any:
        """The side of a run as training that begins from it has it: what is of the data alone is new.

        Raises:
            RecipeError: When the recipe's data is of another form than that run's.
        """
        return side

    @cached_property
    def origin(self) -> Origin | None:
        """What training begins from; None for fresh weights.

        Raises:
            RunError: When it is damaged, or gone.
        """
        return read_origin(self.recipe.training.initialize_from, self.side_of)

    def tokenizers(self, side: Any) -> dict[str, SideTokenizer]:
        """The tokenizers of a side by the name of their folder; none where it reads no text."""
        return {}

    def update_lines(self, examples: Examples, side: Any) -> Iterator[str]:
        """What ``text.update`` has made of the vocabulary that training begins from, for a person."""
        text = getattr(self.recipe, "text", None)
        if self.origin is None or text is None or text.update is None:
            return
        old = self.origin.side
        changes = vocabulary_changes(self.tokenizers(old), self.tokenizers(side))
        some = replace(examples, train=[_thinned(corpus) for corpus in examples.train])
        yield from update_lines(changes, lambda found: self.encode(some, found), old, side)

    @abstractmethod
    def load_side(self, folder: Path) -> Any:
        """Reads what ``save`` of a side has written.

        Raises:
            TextError: When it is missing or damaged.
        """

    def side_of(self, folder: RunFolder, checkpoint: Checkpoint) -> Any:
        """Reads the side of a run that one of its checkpoints was trained with.

        Raises:
            RunError: When it does not belong to the checkpoint.
            TextError: When it is missing or damaged.
        """
        side = self.load_side(folder.tokenizer)
        self.check_side(side, checkpoint, folder.tokenizer)
        check_tokenizer(checkpoint, folder)
        return side

    def check_side(self, side: Any, checkpoint: Checkpoint, folder: Path) -> None:
        """Refuses a side that does not belong to a checkpoint; names both.

        Raises:
            RunError: Then.
        """

    def side_sizes(self, side: Any) -> str:
        """What of a side decides the shapes of weights, for a message: ``vocabularies of 20 and 20``."""
        return ""

    # Batches.

    @abstractmethod
    def encode(self, examples: Examples, side: Any) -> EncodedCorpus:
        """The training data as tensors, within the recipe's limits.

        Raises:
            DataError: When nothing is left.
        """

    @abstractmethod
    def batches(self, encoded: EncodedCorpus, weights: Sequence[float], size: int) -> Plan:
        """Which rows go together in updates of some size."""

    def plan(self, examples: Examples, encoded: EncodedCorpus, side: Any) -> Plan:
        """The batches of all epochs, with updates of `update_size`."""
        return self.batches(encoded, examples.weights, self.update_size)

    @property
    def update_size(self) -> int:
        """How large an update is, in ``WORDS.unit``; the default where the recipe leaves it open."""
        training = self.recipe.training
        if training.budget != "auto":
            return training.budget
        default: int = type(training).model_fields[training.BUDGET].default
        return default

    def epoch_size(self, encoded: EncodedCorpus, weights: Sequence[float]) -> int:
        """How large an epoch is, in ``WORDS.unit``."""
        each = 1 if self.BUDGET_COLUMN is None else encoded.lengths[self.BUDGET_COLUMN]
        return int(np.sum(np.asarray(weights)[encoded.corpora] * each))

    @property
    def augment(self) -> Augment | None:
        """What changes batches while training, see `training_dataset`; None for nothing."""
        return None

    def signs(self, examples: Examples, side: Any) -> Iterator[Sign]:
        """What of the data, and of its side, does not fit together; looked for when a training begins."""
        return iter(())

    def report(self, examples: Examples, encoded: EncodedCorpus) -> Iterator[str]:
        """What a person is told of the data before training begins."""
        yield from examples.report
        yield from (line for report in encoded.reports for line in report.to_lines())

    def describe(self, encoded: EncodedCorpus, plan: Plan) -> str:
        """How much there is to learn from, on one line."""
        parts = [
            counted(len(encoded), self.WORDS.row),
            f"{counted(plan.num_batches(0), 'update')} an epoch",
        ]
        shares = plan.padding()
        if shares:
            named = (f"{shares[name]:.1%} {name}" for name in encoded.lengths)
            parts.append(f"padding {', '.join(named)}")
        return " · ".join(parts)

    # Memory.

    def cost(self, batch: Batch, side: Any) -> float:
        """How much memory an update of a batch takes, compared with others."""
        return float(len(batch.rows))

    def most_expensive(self, batches: Sequence[Batch], side: Any) -> int:
        """The place of the batch whose update takes the most memory."""
        return max(range(len(batches)), key=lambda place: self.cost(batches[place], side))

    @abstractmethod
    def describe_batch(self, batch: Batch) -> str:
        """How large a batch is, for a message."""

    @abstractmethod
    def smaller_updates(self) -> str:
        """What to lower where an update does not fit in memory, with the values that are in use."""

    @abstractmethod
    def smaller_validation(self) -> str:
        """What to lower where a validation does not."""

    # The model and the task.

    @abstractmethod
    def model(self, side: Any, precision: str) -> Any:
        """The model, with fresh weights drawn from ``training.seed``.

        Args:
            side: Says how large vocabularies or images are.
            precision: Name of the Keras policy; ``"float32"`` for answering.
        """

    def first_weights(self, model: Any, side: Any) -> Iterator[str]:
        """Puts weights that were trained elsewhere into a fresh model, where the recipe asks for some.

        Yields:
            What was taken, for a person.

        Raises:
            RunError: When they do not fit the model.
        """
        origin = self.origin
        if origin is None:
            yield from self.foreign_weights(model, side)
        else:
            weights = self.carried_weights(side, origin)
            refuse_still_fresh(model, self.recipe.training, set(origin.checkpoint.weights) - set(weights))
            yield from carry(model, origin, weights, self.side_sizes(side))

    def foreign_weights(self, model: Any, side: Any) -> Iterator[str]:
        """As ``first_weights``, of weights that no run of this package has made."""
        return iter(())

    def carried_weights(self, side: Any, origin: Origin) -> Arrays:
        """What a model with some side takes of a run's weights, by path; what is left out is fresh there."""
        changes = vocabulary_changes(self.tokenizers(origin.side), self.tokenizers(side))
        return carry_rows(origin.checkpoint.weights, changes)

    def embeddings(self, model: Any, side: Any) -> dict[str, tuple[Any, Sequence[str]]]:
        """Tables of vectors ``[tokens, width]`` by name, each with the spellings of its rows."""
        return {}

    @property
    def loss_options(self) -> dict[str, Any]:
        """Arguments of `TrainingModel` for the loss, beside label smoothing."""
        return {}

    @abstractmethod
    def task(self, model: Any, side: Any) -> Task:
        """The task around a model."""

    def manifest_facts(self) -> dict[str, Any]:
        """Fields of an export's manifest that the recipe knows."""
        return {}

    def limits(self) -> Iterator[str]:
        """What the finished model does not do, as far as the recipe says it: for people, a sentence each."""
        return iter(())

    @abstractmethod
    def samples(self, folder: RunFolder) -> list[Any]:
        """Examples of the run's own data to try an export with; fewer where the data is not at hand."""

    # The measure.

    @abstractmethod
    def dev_sets(self, examples: Examples, side: Any) -> list[EvaluationSet]:
        """The dev sets as the evaluator takes them."""

    @abstractmethod
    def test_sets(self, examples: Examples, side: Any) -> list[EvaluationSet]:
        """The test sets as the evaluator takes them."""

    @abstractmethod
    def evaluator(self, task: Any) -> Evaluator:
        """What says how good the task is."""

    @property
    def measure(self) -> Measure:
        """What the best checkpoint is chosen by."""
        name = self.recipe.training.best_by
        return Measure(f"val_{name}", higher_is_better=name != "loss")

    @property
    def measured_by(self) -> tuple[str, ...]:
        """Keys beside the dev data that change what ``measure`` measures."""
        return ()


def _thinned(corpus: Any) -> Any:
    """Some rows of a corpus, evenly spread."""
    return corpus.select(np.arange(0, len(corpus), max(1, len(corpus) // _SHOWING)))
