"""What tells one recipe from another: a digest of what it says."""

import hashlib
import json
from pathlib import Path
from typing import Any, get_args

from tf_transformer.recipe.base import Recipe
from tf_transformer.recipe.entries import Fraction
from tf_transformer.recipe.fields import Section
from tf_transformer.recipe.text import plain

LOOKED_AT = (("training", "profile"), ("evaluation", "self_attention"))
"""Keys that say what is shown of a training, and nothing of what comes of it: no figure hangs on them."""


def recipe_digest(recipe: Recipe) -> str:
    """SHA-256 of what a recipe says, whatever its comments, its order, and where its files lie."""
    values = plain(recipe)
    del values["files"], values["about"]
    data = recipe.data
    values["data"]["train"] = [_nameless(entry) for entry in data.train_entries]
    if not isinstance(data.dev, Fraction):
        values["data"]["dev"] = [_nameless(entry) for entry in data.dev_sets.values()]
    values["data"]["test"] = [_nameless(entry) for entry in data.test_sets.values()]
    values["data"].pop("prepared", None)  # a way to read train, which is what counts
    for name, section in values.items():
        if name != "data" and isinstance(section, dict):
            values[name] = _pathless(getattr(recipe, name), section)
    for section, name in LOOKED_AT:
        values[section].pop(name, None)
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _nameless(entry: Section) -> dict[str, Any]:
    """An entry without what people call it and say of it, and with a mark in place of each path."""
    shown = {}
    for name in type(entry).model_fields:
        value = getattr(entry, name)
        several = value if isinstance(value, tuple) else (value,)
        are_paths = bool(several) and isinstance(several[0], Path)
        shown[name] = len(several) if are_paths else plain(value)
    return {name: value for name, value in shown.items() if name not in ("name", "licence")}


def _pathless(section: Section, values: dict[str, Any]) -> dict[str, Any]:
    """The values of a section with whether a file is named in place of each path."""
    names = _files_in(type(section))
    return {name: value is not None if name in names else value for name, value in values.items()}


def _files_in(section: type[Section]) -> set[str]:
    """The keys of a section that hold a path."""
    return {name for name, field in section.model_fields.items() if _holds_path(field.annotation)}


def _holds_path(annotation: Any) -> bool:
    return annotation is Path or any(map(_holds_path, get_args(annotation)))
