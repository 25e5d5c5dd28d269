"""A trained task behind one face, be it a run or an export: what ``predict`` and ``evaluate`` need."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tf_transformer.build import LoadedRun
from tf_transformer.cli.task_options import TASKS
from tf_transformer.errors import RunError, counted
from tf_transformer.evaluation import EvaluationSet, Evaluator
from tf_transformer.export.loading import ExportedModel
from tf_transformer.tasks import Hypothesis

if TYPE_CHECKING:
    from tf_transformer.export.ctranslate2_model import CTranslate2Model

Options = Mapping[str, Any]
"""What was given on the command line, by the option's name without hyphens in front: ``n-best``."""


@dataclass(frozen=True)
class Reading:
    """How a column of text becomes ids.

    Args:
        encode: Texts `[B]` to ids, ragged `[B, None]`.
        tokenizer: What finds the pieces.
        plain: Texts to those without anything that is no text, such as tags.
        extra: Positions that the model takes beside the ids.
    """

    encode: Callable[[Any], Any]
    tokenizer: Any
    plain: Callable[[Sequence[str]], Sequence[str]] = list
    extra: int = 0


class TaskFace(ABC):
    """One subclass a task.

    Args:
        found: What was loaded.

    Attributes:
        UNIT: What an example is called.
        task: What answers.
        run: The run, or None.
        exported: The exported model, or None.
        name: The model and its checkpoint, for a person.
        notes: What was odd when it was read, for a person.
    """

    UNIT: ClassVar[str]
    task: Any

    def __init__(self, found: "LoadedRun | ExportedModel | CTranslate2Model") -> None:
        self.run = found if isinstance(found, LoadedRun) else None
        self.exported: Any = None if isinstance(found, LoadedRun) else found
        self.notes: Sequence[str] = () if self.run is None else self.run.notes
        if isinstance(found, LoadedRun):
            updates = counted(found.step, "update")
            self.name = f"{found.folder.path}: checkpoint {found.checkpoint}, {updates}"
        else:
            checkpoint = found.manifest.checkpoint or "of unknown name"
            self.name = f"{found.folder}: exported checkpoint {checkpoint}"

    def predict(
        self,
        groups: Iterable[list[str]],
        write: Callable[[Iterable[str]], None],
        advance: Callable[[int], None],
        options: Options,
    ) -> None:
        """Answers lines, group by group, in their order.

        Args:
            groups: Lines that are answered together.
            write: Takes lines.
            advance: Told how many lines are answered.
            options: As given.
        """
        for texts in groups:
            for lines in self.answers(texts, options):
                write(lines)
            advance(len(texts))

    @abstractmethod
    def answers(self, texts: list[str], options: Options) -> Iterator[Iterable[str]]:
        """The lines that each text is answered with."""

    def scores(self, texts: list[str], targets: list[str], options: Options) -> list[Hypothesis]:
        """How likely each target is; for translators, which `check_options` sees to."""
        raise AssertionError(f"there are no scores of {type(self).__name__}")

    def remarks(self) -> Iterator[str]:
        """What a person is to know when all is answered."""
        return iter(())

    @abstractmethod
    def evaluator(self, options: Options) -> Evaluator:
        """What says how good it is."""

    @abstractmethod
    def given_set(self, options: Options) -> tuple[EvaluationSet, Sequence[str]] | None:
        """The set that was named on the command line, without a name, and what was noticed; None for none."""

    def recipe_sets(
        self, split: str, instead: str | None = None
    ) -> tuple[list[EvaluationSet], Sequence[str]]:
        """The dev or test sets of a run's recipe, read from where its data lies, and what was noticed.

        Args:
            split: Which.
            instead: What a person may do where there are none; by default, name other examples.

        Raises:
            RunError: When the recipe has none.
            DataError: When a file cannot be read.
        """
        assert self.run is not None  # refused before it was loaded
        problem, side = self.run.problem, self.run.task.side
        examples = problem.read_split(split)
        make = problem.dev_sets if split == "dev" else problem.test_sets
        sets = make(examples, side)
        if not sets:
            named = instead or "name " + " and ".join(TASKS[self.run.recipe.task].examples)
            raise RunError(f"{self.run.folder.path}: its recipe has no data.{split}; {named}")
        return sets, examples.report

    @staticmethod
    def readings(side: Any) -> Mapping[str, "Reading"]:
        """How each column of text is read, for ``inspect``; none where examples are no text.

        Args:
            side: What reads them.
        """
        return {}

    @staticmethod
    def tokens(side: Any) -> Mapping[str, Sequence[str]]:
        """The spelling of each id, for what the model gets as ids: its inputs by name, and ``labels``."""
        return {}

    @staticmethod
    @abstractmethod
    def row_lines(side: Any, where: str, inputs: Any, labels: Any, row: int) -> Iterator[str]:
        """One row of a batch as the model gets it, for ``inspect``.

        Args:
            side: What has made it.
            where: Its file and line.
            inputs: Of the batch.
            labels: Of the batch.
            row: Its place there.
        """
