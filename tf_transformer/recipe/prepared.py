"""What prepared data was made from, and whether that is what a recipe asks for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tf_transformer.errors import RecipeError
from tf_transformer.files import Fingerprint, parse_json
from tf_transformer.recipe.base import Recipe
from tf_transformer.recipe.fields import Section
from tf_transformer.recipe.keys import ordered_fields

_OF_TRAINING = ("name", "licence", "weight")
"""Keys of an entry that say nothing about its rows."""


def prepared_keys(recipe: Recipe) -> dict[str, Any]:
    """The keys that prepared data depends on, in dots, with their values; a mark where one is a file."""
    return dict(_leaves(recipe, is_file=False))


def prepared_sources(recipe: Recipe) -> dict[str, Path]:
    """The files that prepared data is made of, by the keys that name them."""
    return dict(_leaves(recipe, is_file=True))


def _leaves(recipe: Recipe, is_file: bool) -> Iterator[tuple[str, Any]]:
    data: Any = recipe.data
    parts = [("task", recipe.task), ("text", getattr(recipe, "text", None))]
    parts += [
        (f"data.{name}", getattr(data, name)) for name in (*data.LONGEST, "on_long") if hasattr(data, name)
    ]
    parts += [("data.dev.fraction", data.dev_fraction)]
    parts += [(f"data.train.{place}", entry) for place, entry in enumerate(data.train_entries)]
    for name, value in parts:
        for key, leaf in _flat(name, value):
            if not is_file:
                yield key, "a file" if isinstance(leaf, Path) else leaf
            elif isinstance(leaf, Path):
                yield key, leaf


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Section):
        for inner, _ in ordered_fields(type(value)):
            if inner not in _OF_TRAINING or not name.startswith("data.train."):
                yield from _flat(f"{name}.{inner}", getattr(value, inner))
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from _flat(f"{name}.{place}", item)
    else:
        yield name, value


def prepared_files(recipe: Recipe) -> dict[Path, Fingerprint]:
    """The fingerprints of training files, as they were when they were prepared.

    Args:
        recipe: A resolved one; nothing is looked at where it names no prepared data.

    Raises:
        RecipeError: When the data is not there, or was prepared of other files or with other keys, by name.
    """
    index = getattr(recipe.data, "prepared", None)
    if index is None:
        return {}
    try:
        found = parse_json(index.read_bytes())
        keys, files = dict(found["keys"]), dict(found["files"])
        known = {key: Fingerprint(file["size"], file["sha256"]) for key, file in files.items()}
    except FileNotFoundError:
        rule = "holds no finished data: `tf-transformer prepare RECIPE` makes it"
        raise RecipeError(f"data.prepared: {index.parent} {rule}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecipeError(f"data.prepared: {index} is broken ({error}): prepare the data again") from None
    sources = prepared_sources(recipe)
    faults = [*other_keys(keys, prepared_keys(recipe))] or [
        f"was made of {known[key].size:,} bytes of {key}, and {path} has {path.stat().st_size:,}"
        for key, path in sources.items()
        if path.stat().st_size != known[key].size
    ]
    if faults:
        raise RecipeError([f"data.prepared: {index.parent} {fault}: prepare it again" for fault in faults])
    return {path: known[key] for key, path in sources.items()}


def other_keys(there: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    """What of the keys that data was prepared with is not so in a recipe, one line each."""
    for key in dict.fromkeys([*there, *wanted]):
        before, now = there.get(key, "(absent)"), wanted.get(key, "(absent)")
        if before != now:
            yield f"was made with {key}: {before}, and the recipe has {now}"
