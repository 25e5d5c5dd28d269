"""Overrides from the command line: ``section.key=value``, put into a recipe's values before the check."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from tf_transformer.recipe.fields import CommandLineText, Section
from tf_transformer.recipe.keys import schema_keys
from tf_transformer.recipe.yaml_tree import Path, YamlFault, read_tree

_MOST_LETTERS = 80


class OverrideFault(Exception):
    """An override that cannot be applied; the text says the rule."""


def apply_override(data: dict[str, Any], text: str) -> Path:
    """Sets one value in ``data``.

    Args:
        data: The values of a recipe; sections that are missing are made.
        text: ``section.key=value``; the value is YAML, and paths in it start at the current folder.

    Returns:
        The path that was set, list positions included.

    Raises:
        OverrideFault: When the text is no override, or the path leads into something that is no section.
    """
    dotted, equals, value = text.partition("=")
    parts = dotted.strip().split(".")
    if not equals or not all(parts):
        raise OverrideFault("an override must be section.key=value")
    try:
        tree = read_tree(value)
    except YamlFault as fault:
        raise OverrideFault(f"the value must be YAML: {fault.rule}") from None
    if tree.faults:
        raise OverrideFault(f"the value must be YAML: {tree.faults[0][2]}")
    path: Path = ()
    place: Any = data
    for part in parts[:-1]:
        place, path = _enter(*_only_item(place, path, part), part)
    place, path = _only_item(place, path, parts[-1])
    _set(place, path, parts[-1], _mark(tree.data))
    return (*path, int(parts[-1]) if isinstance(place, list) else parts[-1])


def short_overrides(overrides: Sequence[str], schema: type[Section]) -> str:
    """The overrides as part of a folder's name, such as ``seed=2,dropout=0.1``; empty for none.

    Each key is named by the shortest end that no other key shares. Where that cannot be told from another
    set of overrides (letters that no folder's name should have, or too many), a digest is added.

    Args:
        overrides: Texts ``section.key=value``.
        schema: The recipe that they are for.
    """
    last = {key.strip(): value.strip() for key, _, value in (text.partition("=") for text in overrides)}
    exact = ",".join(f"{_short_key(key, schema)}={value}" for key, value in sorted(last.items()))
    plain = re.sub(r"[^\w.,=+-]", "_", exact)[:_MOST_LETTERS]
    if plain == exact:
        return plain
    return f"{plain}-{hashlib.sha256(exact.encode()).hexdigest()[:8]}"


def _short_key(dotted: str, schema: type[Section]) -> str:
    paths = {key.path for key in schema_keys(schema)}
    parts = tuple(dotted.split("."))
    for length in range(1, len(parts)):
        if len({path for path in paths if path[-length:] == parts[-length:]}) == 1 and parts in paths:
            return ".".join(parts[-length:])
    return dotted


def _only_item(place: Any, path: Path, part: str) -> tuple[Any, Path]:
    """Steps into a list of one, so that ``data.train.source`` names the only entry."""
    if isinstance(place, list) and not part.isdecimal():
        if len(place) != 1:
            raise OverrideFault(f"{_dots(path)} has {len(place)} entries: write {_dots((*path, 0))}.{part}")
        if isinstance(place[0], list):
            raise OverrideFault(f"{_dots((*path, 0))} is no section that holds {part}")
        return place[0], (*path, 0)
    return place, path


def _enter(place: Any, path: Path, part: str) -> tuple[Any, Path]:
    if isinstance(place, list):
        index = int(part)
        if index >= len(place):
            raise OverrideFault(f"{_dots(path)} has {len(place)} entries, counted from 0")
        return place[index], (*path, index)
    if not isinstance(place, dict):
        raise OverrideFault(f"{_dots(path)} is no section that holds {part}")
    if place.get(part) is None:
        place[part] = {}
    return place[part], (*path, part)


def _set(place: Any, path: Path, part: str, value: Any) -> None:
    if isinstance(place, list):
        if int(part) >= len(place):
            raise OverrideFault(f"{_dots(path)} has {len(place)} entries, counted from 0")
        place[int(part)] = value
    elif isinstance(place, dict):
        place[part] = value
    else:
        raise OverrideFault(f"{_dots(path)} is no section that holds {part}")


def _mark(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _mark(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_mark(item) for item in value]
    return CommandLineText(value) if isinstance(value, str) else value


def _dots(path: Path) -> str:
    return ".".join(map(str, path))
