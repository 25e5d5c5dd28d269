"""A recipe that begins from a run: which weights that means, and what of that run's recipe holds here too."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, TypeAdapter, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError

from tf_transformer.checkpoint_index import INDEX, WEIGHTS, Index
from tf_transformer.files import parse_json, read_file
from tf_transformer.recipe.fault import Fault, at, shown
from tf_transformer.recipe.fields import Section, absolute_path

if TYPE_CHECKING:
    from tf_transformer.recipe.base import Recipe

CHECKPOINTS, RECIPE = "checkpoints", "recipe.yaml"
WHERE = at("training.initialize_from")
CARRIED = ("text", "model")
"""Sections whose keys are those of the run: they say what its pieces and its weights are."""


def _run_weights(value: Any, info: ValidationInfo) -> Any:
    """Takes a run, or one of its checkpoints, for the file of its weights; the best one's of a run."""
    if isinstance(value, Path):
        return value
    path = absolute_path(value, info, "folder")
    if not (info.context or {}).get("check_files", True):
        return path
    if (path / RECIPE).is_file():
        path = path / CHECKPOINTS / _best(path / CHECKPOINTS)
    path = path if path.name == WEIGHTS else path / WEIGHTS
    if not path.is_file() or not (run_of(path) / RECIPE).is_file():
        rule = "must be a run, or a checkpoint in one: {path} is none"
        raise PydanticCustomError("run", rule, {"path": str(path.parent)})
    return path


RunWeights = Annotated[Path, BeforeValidator(_run_weights)]


def _best(checkpoints: Path) -> str:
    try:
        name = Index.parse(parse_json(read_file(checkpoints / INDEX))).best_in(checkpoints)
    except (OSError, ValueError) as error:
        rule = "must be one checkpoint of the run, such as {path}: its index cannot be read ({why})"
        last = max((path.name for path in checkpoints.glob("step-*")), default="step-00001000")
        raise PydanticCustomError("run", rule, {"path": str(checkpoints / last), "why": str(error)}) from None
    if name is None:
        rule = "must be a run that was trained: {path} has no checkpoint"
        raise PydanticCustomError("run", rule, {"path": str(checkpoints.parent)})
    return name


def run_of(weights: Path) -> Path:
    """The run that a file of weights belongs to."""
    return weights.parents[2]


def begun_from(data: dict[str, Any], context: dict[str, Any]) -> Path | None:
    """The run that the values of a recipe begin from; None where they name none, or none that is there."""
    training = data.get("training")
    named = training.get("initialize_from") if isinstance(training, dict) else None
    if named is None or not context["check_files"]:
        return None  # what a run has written down is whole, and its beginning may be gone
    try:
        weights: Path = TypeAdapter(RunWeights).validate_python(named, context=context)
    except ValidationError:
        return None  # told when the section is checked
    return run_of(weights)


def with_keys_of(data: dict[str, Any], old: "Recipe") -> dict[str, Any]:
    """The values of a recipe; for what it leaves out of the carried sections, those of a run."""
    filled = dict(data)
    for section in CARRIED:
        given, known = data.get(section, {}), getattr(old, section, None)
        if isinstance(given, dict) and isinstance(known, Section):
            own = known.own_keys(given)
            carried = {name: value for name, value in _values(known).items() if name not in own}
            filled[section] = {**carried, **given}
    return filled


def _values(section: Section) -> dict[str, Any]:
    """The keys of a section; no files, which were read when the run began."""
    found = {name: getattr(section, name) for name in type(section).model_fields}
    return {name: value for name, value in found.items() if not isinstance(value, Path)}


def beginning_faults(
    data: dict[str, Any], old: "Recipe", run: Path, checked: Callable[[str], Section | None]
) -> Iterator[Fault]:
    """Keys that contradict the run that a recipe begins from.

    Args:
        data: The values of the recipe as they were given.
        old: The run's recipe, of the same task.
        run: Its folder.
        checked: The name of a section to what it is with the run's keys; None where it has faults.
    """
    for section in CARRIED:
        now, known = checked(section), getattr(old, section, None)
        given = data.get(section)
        if now is None or known is None or not isinstance(given, dict):
            continue
        own = known.own_keys(given)
        for name in (name for name in given if name not in own):
            extra: Any = type(now).model_fields[name].json_schema_extra
            value, there = getattr(now, name), getattr(known, name)
            if extra["midway"] != "refused" or value == there or (isinstance(there, Path) and value is None):
                continue
            rule = f"must be left out, or be that of {run}, which training begins from: {shown(_said(there))}"
            yield Fault((section, name), rule, _said(value), others=(WHERE,))


def _said(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
