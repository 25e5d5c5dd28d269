"""The keys of a schema as a list: for suggestions, for the commented recipe, and for comparing recipes.

A schema is the class of a task's recipes.
"""

import types
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import Tag
from pydantic.fields import FieldInfo

from tf_transformer.recipe.fields import Midway, Section

_ALIKE_HERE, _ALIKE_ELSEWHERE = 0.68, 0.8


@dataclass(frozen=True)
class Key:
    """One key of the schema.

    Args:
        path: Its names from the top; list positions and names of sets are left out.
        field: What the schema says of it.
        forms: Which of several forms of a section it belongs to, such as ``<noam>``.
        owner: The section class that declares it.
    """

    path: tuple[str, ...]
    field: FieldInfo
    forms: frozenset[str]
    owner: type[Section]

    @property
    def midway(self) -> Midway:
        """What a change of it does to a half-done run."""
        extra: Any = self.field.json_schema_extra
        found: Midway = extra["midway"]
        return found


@cache
def schema_keys(schema: type[Section]) -> tuple[Key, ...]:
    """All keys of a recipe in the order of the schema, sections before what they hold."""
    return tuple(key for key in _walk(schema, (), frozenset()) if key.path[0] != "files")


def ordered_fields(section: type[Section]) -> list[tuple[str, FieldInfo]]:
    """The fields of a section: first those that must be given, and a ``name`` that chooses the form."""
    names: list[str] = []
    for name, field in section.model_fields.items():
        extra: Any = field.json_schema_extra
        names.insert(names.index(extra["after"]) + 1 if "after" in extra else len(names), name)

    def rank(item: tuple[str, FieldInfo]) -> int:
        name, field = item
        return 0 if field.is_required() or (name == "name" and field.default is not None) else 1

    return sorted(((name, section.model_fields[name]) for name in names), key=rank)


def subsections(
    annotation: Any, forms: frozenset[str] = frozenset()
) -> Iterator[tuple[type[Section], frozenset[str]]]:
    """The section classes that a field's type can hold, each with the form that leads to it."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation, forms
    elif get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        yield from subsections(inner, forms | {mark.tag for mark in marks if isinstance(mark, Tag)})
    elif get_origin(annotation) in (Union, types.UnionType, tuple, list, dict):
        for argument in get_args(annotation):
            yield from subsections(argument, forms)


def _walk(section: type[Section], path: tuple[str, ...], forms: frozenset[str]) -> Iterator[Key]:
    for name, field in ordered_fields(section):
        yield Key((*path, name), field, forms, section)
        for inner, inner_forms in subsections(field.annotation):
            yield from _walk(inner, (*path, name), forms | inner_forms)


def schema_path(path: tuple[str | int, ...], schema: type[Section]) -> tuple[str, ...]:
    """A value's path without list positions and names of sets: what the schema calls it."""
    names = tuple(part for part in path if isinstance(part, str))
    known = {key.path for key in schema_keys(schema)}
    if len(names) > 2 and names[:2] in (("data", "dev"), ("data", "test")) and names[:3] not in known:
        return names[:2] + names[3:]
    return names


def help_of(path: tuple[str | int, ...], schema: type[Section]) -> str:
    """What a key is for, as its help says; empty for a key that is none."""
    name = schema_path(path, schema)
    texts = (key.field.description or "" for key in schema_keys(schema) if key.path == name)
    found = next(texts, "").removesuffix(".")
    return found[:1].lower() + found[1:]


def nearest_key(
    path: tuple[str | int, ...], forms: frozenset[str], schema: type[Section]
) -> tuple[str | int, ...] | None:
    """The path of the valid key most like an unknown one, preferably in the same section and form.

    Args:
        path: The path of the unknown key.
        forms: The forms that were recognised on the way to it.
        schema: The recipe that it stands in.

    Returns:
        None where nothing is like it: a suggestion at random is worse than none.
    """
    *parent, wrong = path
    section, name = schema_path(tuple(parent), schema), str(wrong)
    here = keys_of(tuple(parent), forms, schema)
    best = max(here, key=lambda other: _likeness(name, other), default=None)
    if best is not None and _likeness(name, best) >= _ALIKE_HERE:
        return (*parent, best)
    others = (key.path for key in schema_keys(schema) if key.path != (*section, name))
    elsewhere = max(others, key=lambda other: _likeness(name, other[-1]))
    return elsewhere if _likeness(name, elsewhere[-1]) >= _ALIKE_ELSEWHERE else None


def keys_of(path: tuple[str | int, ...], forms: frozenset[str], schema: type[Section]) -> list[str]:
    """The valid keys of a section, in the order of the schema.

    Args:
        path: The path of the section.
        forms: The forms that were recognised on the way to it.
        schema: The recipe that it stands in.
    """
    choices = {"<list>", "<named>", "<one>", *forms}
    section = schema_path(path, schema)
    keys = (key for key in schema_keys(schema) if key.path[:-1] == section and key.forms <= choices)
    here = (key.path[-1] for key in keys)
    return list(dict.fromkeys(here))


def _likeness(one: str, other: str) -> float:
    one, other = one.lower(), other.lower()
    inside = min(len(one), len(other)) > 2 and (one in other or other in one)
    return max(SequenceMatcher(None, one, other).ratio(), _ALIKE_HERE if inside else 0.0)
