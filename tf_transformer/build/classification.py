"""What all classifications build alike, whatever their examples are: model, measure, unseen labels."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from tf_transformer.build.origin import Origin
from tf_transformer.build.problem import Heading, Problem
from tf_transformer.build.stack import encoder_keywords
from tf_transformer.checkpoints import Arrays
from tf_transformer.data.label_numbers import OnUnseen, label_numbers
from tf_transformer.errors import RecipeError, counted
from tf_transformer.layers import Encoder
from tf_transformer.models import Classifier
from tf_transformer.recipe import ClassifyImagesRecipe, ClassifyTextRecipe, ClassifyVectorsRecipe
from tf_transformer.recipe.label_section import LabelEvaluation, LabelTraining
from tf_transformer.scores.classification import class_names
from tf_transformer.text import Labels

LabelRecipe = TypeVar("LabelRecipe", ClassifyTextRecipe, ClassifyImagesRecipe, ClassifyVectorsRecipe)


class ClassificationProblem(Problem[LabelRecipe], Generic[LabelRecipe]):
    """A recipe whose examples have a label each."""

    HEADINGS: ClassVar[tuple[Heading, ...]] = (
        ("val_loss", "dev loss", 9, "{:.3f}"),
        ("val_accuracy", "accuracy", 9, "{:.1%}"),
        ("val_macro_f1", "macro-F1", 9, "{:.1%}"),
        ("examples_per_second", "examples/s", 12, "{:,.0f}"),
    )

    def classifier(self, embedding: Any, side: Any, precision: str, **options: Any) -> Classifier:
        """The model around an embedding.

        Args:
            embedding: What comes before the encoder.
            side: Says which labels there are.
            precision: Name of the Keras policy.
            **options: Further arguments of `Classifier`.
        """
        sizes = self.recipe.model
        return Classifier(
            len(side.labels),
            embedding,
            Encoder(**encoder_keywords(sizes), dtype=precision, name="encoder"),
            pooling=sizes.poolings,
            dropout=sizes.pooled_dropout,
            class_weights=class_weights(self.recipe.training, side.labels),
            dtype=precision,
            **options,
        )

    def carried_weights(self, side: Any, origin: Origin) -> Arrays:
        """See `Problem`; the weights of the classes are fresh where there are other classes."""
        weights = super().carried_weights(side, origin)
        if side.labels.names == origin.side.labels.names:
            return weights
        return {path: array for path, array in weights.items() if path.split("/")[1] != "head"}

    def manifest_facts(self) -> dict[str, Any]:
        """The measure, so that an export is scored as its run is."""
        return {"leave_out": self.recipe.evaluation.leave_out}

    @property
    def loss_options(self) -> dict[str, Any]:
        return {"r_drop": self.recipe.training.r_drop}

    @property
    def measured_by(self) -> tuple[str, ...]:
        """See `Problem`."""
        return ("evaluation.leave_out",) if self.recipe.training.best_by == "macro_f1" else ()


def left_out(evaluation: LabelEvaluation, labels: Labels, directed: bool = False) -> tuple[str, ...]:
    """The classes that macro-F1 leaves out.

    Args:
        evaluation: The recipe's section.
        labels: Those of training.
        directed: Whether both directions of a relation are one class.

    Raises:
        RecipeError: When one is no class of training: the measure would be another one than was asked for.
    """
    classes = list(dict.fromkeys(class_names(labels.names, directed)))
    foreign = sorted(set(evaluation.leave_out) - set(classes))
    if foreign:
        raise RecipeError(
            f"evaluation.leave_out: must be among the classes of training, {', '.join(classes)}; "
            f"received {foreign[0]!r}"
        )
    return evaluation.leave_out


def class_weights(training: LabelTraining, labels: Labels) -> list[float] | None:
    """What an example of each label weighs in the loss; the mean over training is 1 where they are balanced.

    Raises:
        RecipeError: When weights are named for labels that training has not, or not for all that it has.
    """
    weights = training.class_weights
    if weights is None:
        return None
    if weights == "balanced":
        total = sum(labels.counts)
        return [total / (len(labels) * max(count, 1)) for count in labels.counts]
    foreign, missing = sorted(set(weights) - set(labels.names)), sorted(set(labels.names) - set(weights))
    if foreign or missing:
        wrong = f"{foreign[0]!r}, which is none" if foreign else f"none for {missing[0]!r}"
        raise RecipeError(
            "training.class_weights: must have a weight for each label of training, "
            f"{', '.join(labels.names)}; received {wrong}"
        )
    if not any(weights.values()):
        raise RecipeError("training.class_weights: must be above 0 for one label at least; received only 0")
    return [weights[name] for name in labels.names]


def unseen_labels(
    name: str, names: Sequence[str], labels: Sequence[str], where: Callable[[int], str], on_unseen: OnUnseen
) -> Iterator[str]:
    """Refuses labels that training has not, or tells how many there are.

    Args:
        name: What the set is called.
        names: The labels of its examples.
        labels: Those of training.
        where: Says where an example stands.
        on_unseen: ``"error"`` or ``"wrong"``.

    Yields:
        A line, where there are such labels and they are no error.

    Raises:
        DataError: Where they are one.
    """
    numbers = label_numbers(names, labels, where, on_unseen)
    strange = sorted({names[row] for row in np.flatnonzero(numbers < 0).tolist()})
    if strange:
        count = counted(int((numbers < 0).sum()), "example")
        yield f"{name}: {count} with labels that training has not: {', '.join(strange)}"
