"""The formats of run folders: what changed from each to the next, and how an older run is read.

A run says its format in ``versions.json``. One of an older format is read as if it were of the newest:
each of its documents goes through the migrations from its format on, and nothing is written. Where
training goes on in it, the documents are written anew and ``versions.json`` last, so that a run whose
migration was cut short still is of the older format.

For a new format write a migration from the last one into `MIGRATIONS`; `RUN_FORMAT` follows from it. Each
function takes a document as it was written in the older format, or one that is migrated already, which it
returns as it is: a cut migration is taken up again, and what is the same is not written anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Document = Literal["recipe", "index", "state", "arrays"]
"""What a migration may change: the resolved recipe, the index of checkpoints, and of each checkpoint its
state and the arrays that continuing needs."""
Values = TypeVar("Values", bound=Mapping[str, Any])


def _same(values: Any) -> Any:
    return values


@dataclass(frozen=True)
class Migration:
    """From one format to the next; what is left out did not change.

    Args:
        change: What is new, for a person.
        recipe: The values of ``recipe.yaml``, to those of the next format; so of the others.
        index: Those of ``checkpoints/index.json``.
        state: Those of a checkpoint's ``state.json``.
        arrays: The arrays of a checkpoint's ``training.npz``, by name.
    """

    change: str
    recipe: Callable[[Any], Any] = _same
    index: Callable[[Any], Any] = _same
    state: Callable[[Any], Any] = _same
    arrays: Callable[[Any], Any] = _same


def _with_average(index: Any) -> Any:
    """The average could not be the best checkpoint."""
    is_new = not isinstance(index, dict) or "average_is_best" in index
    return index if is_new else {**index, "average_is_best": False}


def _with_rate(arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    """The learning rate was the schedule's, from its beginning on."""
    rate = {"training/rate_factor": 1.0, "training/rate_start": 0}
    return arrays if rate.keys() <= arrays.keys() else {**rate, **arrays}


def _with_whole_logits(recipe: Any) -> Any:
    """Logits were never computed in chunks; a key that is left out now means that they are."""
    training = recipe.get("training") if isinstance(recipe, dict) else None
    if not isinstance(training, dict) or "loss_chunk" in training or recipe.get("task") != "translate":
        return recipe
    return {**recipe, "training": {"loss_chunk": None, **training}}


MIGRATIONS: dict[int, Migration] = {
    1: Migration(
        "the average may be the best checkpoint, and checkpoints hold the factor of the learning rate",
        recipe=_with_whole_logits,
        index=_with_average,
        arrays=_with_rate,
    ),
}
"""By the format that they begin at, without a gap."""

OLDEST_FORMAT = min(MIGRATIONS)
RUN_FORMAT = max(MIGRATIONS) + 1


def migrated(document: Document, values: Values, format: int) -> Values:
    """A document of a run as it is in the newest format.

    Args:
        document: Which.
        values: What it says.
        format: The run's format.
    """
    for migration in _from(format):
        values = getattr(migration, document)(values)
    return values


def changes_since(format: int) -> list[str]:
    """What has changed since a format, one line each, for a person."""
    return [migration.change for migration in _from(format)]


def _from(format: int) -> list[Migration]:
    return [MIGRATIONS[number] for number in sorted(MIGRATIONS) if number >= format]
