"""What classifications of examples that are no text share: their sets, their classes, and their measure."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from tf_transformer.build.classification import ClassificationProblem, left_out, unseen_labels
from tf_transformer.build.problem import Examples
from tf_transformer.data.encoded_examples import EncodedExamples, encode_examples, shared_examples
from tf_transformer.data.label_numbers import refuse_new_labels
from tf_transformer.data.labelled import LabelledCorpus, place_of, split_examples
from tf_transformer.evaluation import EvaluationSet
from tf_transformer.evaluation.classification import ClassificationEvaluator
from tf_transformer.recipe.classify_images import ClassifyImagesRecipe
from tf_transformer.recipe.classify_vectors import ClassifyVectorsRecipe

ExampleRecipe = TypeVar("ExampleRecipe", ClassifyImagesRecipe, ClassifyVectorsRecipe)
Read = Callable[[Any, str | None], LabelledCorpus]
"""An entry of a recipe, and what reports call it (None for its title), to its examples."""


@dataclass(frozen=True)
class ExampleSet:
    """A dev or test set.

    Args:
        name: The set's name in figures.
        corpora: Where its examples come from, in order.
    """

    name: str
    corpora: Sequence[LabelledCorpus]

    def evaluation_set(self) -> EvaluationSet:
        """The set as evaluators take it."""
        examples = [example for corpus in self.corpora for example in corpus.inputs]
        labels = [label for corpus in self.corpora for label in corpus.labels]
        places = [place for corpus in self.corpora for place in corpus.places]
        return EvaluationSet(self.name, {"example": examples, "label": labels, "place": places})


class ExampleProblem(ClassificationProblem[ExampleRecipe], Generic[ExampleRecipe]):
    """A recipe whose examples are pictures or sequences, each with a label."""

    BUDGET: ClassVar[str | None] = None

    @abstractmethod
    def reader(self) -> Read:
        """What reads the recipe's entries, one after the other."""

    @abstractmethod
    def check_form(self, corpus: LabelledCorpus, side: Any) -> None:
        """Refuses examples that have another form than those of training.

        Raises:
            DataError: Then.
        """

    def read(self) -> Examples:
        data, read = self.recipe.data, self.reader()
        train: list[LabelledCorpus] = [read(entry, None) for entry in data.train_entries]
        dev = {name: [read(entry, name)] for name, entry in data.dev_sets.items()}
        tests: list[ExampleSet] = [
            ExampleSet(name, [read(entry, name)]) for name, entry in data.test_sets.items()
        ]
        if data.dev_fraction is not None:
            halves = [split_examples(corpus, data.dev_fraction) for corpus in train]
            train = [rest for rest, _ in halves]
            dev = {"dev": [carved for _, carved in halves]}
        devs: list[ExampleSet] = [ExampleSet(name, corpora) for name, corpora in dev.items()]
        report = [*self._told(train, [*devs, *tests]), *self._unseen([*devs, *tests], _labels(train))]
        weights = [entry.weight for entry in data.train_entries]
        return Examples(train, weights, devs, tests, report)

    def read_split(self, split: str) -> Examples:
        data, read = self.recipe.data, self.reader()
        if split == "dev" and data.dev_fraction is not None:
            sets = list(self.read().dev)
        else:
            entries = data.dev_sets if split == "dev" else data.test_sets
            sets = [ExampleSet(name, [read(entry, name)]) for name, entry in entries.items()]
        parts = {"dev": sets, "test": []} if split == "dev" else {"dev": [], "test": sets}
        return Examples(train=[], weights=[], report=list(self._told([], sets)), **parts)

    @staticmethod
    def _told(train: Sequence[LabelledCorpus], sets: Sequence[ExampleSet]) -> Iterator[str]:
        """What is to be said of dev and test; the training data reports when it is encoded."""
        for corpus in (corpus for found in sets for corpus in found.corpora):
            yield from corpus.report.to_lines()
            yield from shared_examples(train, corpus)

    def _unseen(self, sets: Sequence[ExampleSet], known: Sequence[str]) -> Iterator[str]:
        """Refuses labels that training has not, or tells how many there are."""
        on_unseen = self.recipe.evaluation.unseen_labels
        for found in sets:
            for corpus in found.corpora:
                where = partial(place_of, corpus)
                yield from unseen_labels(found.name, corpus.labels, known, where, on_unseen)

    def encode(self, examples: Examples, side: Any) -> EncodedExamples:
        for corpus in examples.train:
            self.check_form(corpus, side)
            refuse_new_labels(corpus.labels, side.labels.names, partial(place_of, corpus))
        return encode_examples(examples.train, side.labels, self.longest)

    @property
    def longest(self) -> int | None:
        """The most vectors that the model reads of an example; None where all examples are equally long."""
        return None

    def side_sizes(self, side: Any) -> str:
        return f"{len(side.labels)} labels"

    def dev_sets(self, examples: Examples, side: Any) -> list[EvaluationSet]:
        return self._sets(examples.dev, side)

    def test_sets(self, examples: Examples, side: Any) -> list[EvaluationSet]:
        return self._sets(examples.test, side)

    def _sets(self, sets: Sequence[ExampleSet], side: Any) -> list[EvaluationSet]:
        for _ in self._unseen(sets, side.labels.names):
            pass  # told when all was read
        for corpus in (corpus for found in sets for corpus in found.corpora):
            self.check_form(corpus, side)
        return [found.evaluation_set() for found in sets]

    def evaluator(self, task: Any) -> ClassificationEvaluator:
        evaluation = self.recipe.evaluation
        return ClassificationEvaluator(
            task,
            examples="example",
            label_smoothing=self.recipe.training.label_smoothing,
            class_weights=task.model.class_weights,
            model=task.model,
            leave_out=left_out(evaluation, task.side.labels),
            samples=evaluation.samples,
            shown="place",
        )


def _labels(corpora: Sequence[LabelledCorpus]) -> list[str]:
    return sorted({label for corpus in corpora for label in corpus.labels})
