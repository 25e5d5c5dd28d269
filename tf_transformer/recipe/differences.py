"""Which values of a recipe are no defaults: what one says that another does not."""

from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from tf_transformer.recipe.about_section import is_remark
from tf_transformer.recipe.base import Recipe
from tf_transformer.recipe.fields import Section
from tf_transformer.recipe.keys import ordered_fields

Plain = bool | int | float | str


def differences(recipe: Recipe) -> dict[str, Plain]:
    """The values that are no defaults, by key in dots; a file by its name, where it lies being no matter.

    What only says something to people is left out.

    Args:
        recipe: As resolved.
    """
    found: dict[str, Plain] = {}
    for name, field in ordered_fields(type(recipe)):
        if name != "files":
            _collect((name,), getattr(recipe, name), _default(field, {}), found)
    return found


def _collect(path: tuple[str, ...], value: Any, default: Any, found: dict[str, Plain]) -> None:
    if isinstance(value, Section):
        values = {name: getattr(value, name) for name, _ in ordered_fields(type(value))}
        for name, field in ordered_fields(type(value)):
            usual = _default(field, values)
            if name == "name" and type(value) is not type(default):
                usual = None  # it says which of several forms this is
            _collect((*path, name), values[name], usual, found)
    elif isinstance(value, dict):
        for name, item in value.items():
            _collect((*path, str(name)), item, None, found)
    elif isinstance(value, list | tuple) and any(isinstance(item, Section) for item in value):
        for number, item in enumerate(value):
            _collect((*path, str(number)), item, None, found)
    elif value != default and not is_remark(".".join(path)):
        found[".".join(path)] = _plain(value)


def _default(field: FieldInfo, values: dict[str, Any]) -> Any:
    """What a key has that is left out; None where it must be given."""
    if field.is_required():
        return None
    return field.get_default(call_default_factory=True, validated_data=values)


def _plain(value: Any) -> Plain:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return value.name
    if isinstance(value, list | tuple):
        return ", ".join(str(_plain(item)) for item in value)
    return "null" if value is None else str(value)
