"""What all classifications build alike, whatever their examples are: the model, weights, unseen labels."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tf_transformer.data.label_numbers import OnUnseen, label_numbers
from tf_transformer.errors import RecipeError, counted
from tf_transformer.layers import Encoder
from tf_transformer.models import Classifier
from tf_transformer.models.deep_norm import deep_norm_alone
from tf_transformer.recipe.label_section import LabelTraining
from tf_transformer.text import Labels


def build_classifier(recipe: Any, embedding: Any, labels: Labels, precision: str, **options: Any) -> Classifier:
    """The model of a recipe around an embedding.

    Args:
        recipe: Its ``model`` and ``training.class_weights`` are read.
        embedding: What comes before the encoder.
        labels: Those of training.
        precision: Name of the Keras policy.
        **options: Further arguments of `Classifier`.
    """
    sizes = recipe.model
    encoder = Encoder(
        sizes.num_layers,
        sizes.num_heads,
        sizes.intermediate_dim,
        dropout=sizes.dropout,
        attention_dropout=sizes.attention_dropout,
        activation_dropout=sizes.activation_dropout,
        activation=sizes.activation,
        norm="post" if sizes.norm == "deep" else sizes.norm,
        **(deep_norm_alone(sizes.num_layers) if sizes.norm == "deep" else {}),
        dtype=precision,
        name="encoder",
    )
    return Classifier(
        len(labels),
        embedding,
        encoder,
        pooling=sizes.poolings,
        dropout=sizes.pooled_dropout,
        class_weights=class_weights(recipe.training, labels),
        dtype=precision,
        **options,
    )


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
    strange = sorted({names[row] for row in np.flatnonzero(numbers < 0)})
    if strange:
        count = counted(int((numbers < 0).sum()), "example")
        yield f"{name}: {count} with labels that training has not: {', '.join(strange)}"
