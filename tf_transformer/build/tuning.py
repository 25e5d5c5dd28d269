"""Which weights of a model a recipe trains, at which rates, and which of them through adapters."""

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tf_transformer.adapters import Adapters
from tf_transformer.errors import RecipeError
from tf_transformer.recipe import Training


def name_of(weight: Any) -> str:
    """What patterns match: a weight's path in its model, such as ``encoder/final_norm/gamma``."""
    return str(weight.path).partition("/")[2] or str(weight.path)


def matching(weights: Sequence[Any], pattern: str, key: str) -> list[Any]:
    """The weights whose name, or that of a layer they are in, a pattern matches.

    Args:
        weights: Of the model.
        pattern: As of a shell; ``*`` is any text, ``/`` too.
        key: Of the recipe, for the message.

    Raises:
        RecipeError: When there is none; lists the names that there are, with ``*`` for their numbers.
    """
    found = [
        one for one in weights if any(fnmatchcase(name_of(one), each) for each in (pattern, f"{pattern}/*"))
    ]
    if not found:
        names = dict.fromkeys(re.sub(r"\d+", "*", name_of(one)) for one in weights)
        raise RecipeError(
            f"{key}: must match the name of a weight, and {pattern!r} matches none of {', '.join(names)}"
        )
    return found


def still(model: Any, training: Training) -> list[Any]:
    """The weights that training leaves as they are, those aside that no training changes.

    Raises:
        RecipeError: When a pattern matches no weight, or nothing is left to train.
    """
    weights, lora = list(model.weights), training.lora
    if lora is not None:
        moved = [*_adapted(model, training), *_matched(weights, lora.also, "training.lora.also")]
        return _others(weights, moved)
    found = list(_matched(weights, training.freeze, "training.freeze"))
    if not _others(model.trainable_variables, found):
        raise RecipeError(f"training.freeze: must leave a weight to train. Received: {list(training.freeze)}")
    return found


def refuse_still_fresh(model: Any, training: Training, fresh: Collection[str]) -> None:
    """Refuses weights that begin as random numbers and would stay so.

    Args:
        model: With all its weights.
        training: The recipe's section.
        fresh: Paths of such weights.

    Raises:
        RecipeError: When there is one.
    """
    lost = [weight for weight in still(model, training) if weight.path in fresh]
    if lost:
        key = "training.freeze: must leave" if training.lora is None else "training.lora.also: must name"
        raise RecipeError(f"{key} {name_of(lost[0])}, which is fresh here: it would never be trained")


def tune(model: Any, training: Training) -> Adapters | None:
    """Makes of a model's weights what the recipe trains; the adapters, where it asks for some.

    Raises:
        RecipeError: See `still`.
    """
    if not training.freeze and training.lora is None:
        return None
    for weight in still(model, training):
        weight.trainable = False
    lora = training.lora
    if lora is None:
        return None
    return Adapters(_adapted(model, training), lora.rank, lora.alpha, training.seed)


def rates_of(model: Any, training: Training) -> dict[str, float]:
    """What the rate of each weight is multiplied by, by its path; the last pattern that matches counts.

    Raises:
        RecipeError: When a pattern matches no weight.
    """
    found: dict[str, float] = {}
    for pattern, factor in training.rates.items():
        matched = matching(list(model.weights), pattern, "training.rates")
        found.update({weight.path: factor for weight in matched})
    return found


def _adapted(model: Any, training: Training) -> list[Any]:
    """The matrices that are trained through adapters, but for what is trained whole."""
    lora = training.lora
    assert lora is not None
    weights = list(model.weights)
    whole = {id(one) for one in _matched(weights, lora.also, "training.lora.also")}
    matched = list(_matched(weights, lora.targets, "training.lora.targets"))
    found = [one for one in matched if len(one.shape) == 2 and id(one) not in whole]
    if not found:
        raise RecipeError(
            "training.lora.targets: must match a matrix that training.lora.also does not. Received: "
            f"{list(lora.targets)}"
        )
    return found


def _matched(weights: Sequence[Any], patterns: Sequence[str], key: str) -> Iterator[Any]:
    """The weights that any of some patterns matches, each once, in the model's order."""
    chosen = {id(one) for pattern in patterns for one in matching(weights, pattern, key)}
    yield from (one for one in weights if id(one) in chosen)


def _others(weights: Sequence[Any], but: Sequence[Any]) -> list[Any]:
    left_out = {id(one) for one in but}
    return [one for one in weights if id(one) not in left_out]
