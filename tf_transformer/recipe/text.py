"""A recipe as text: resolved for a run folder, commented for people, as a JSON Schema for editors."""

import os.path
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import Field, TypeAdapter
from pydantic.fields import FieldInfo

from tf_transformer.files import fingerprint, folder_fingerprint
from tf_transformer.recipe.base import FileRecord, Recipe
from tf_transformer.recipe.fields import Section
from tf_transformer.recipe.keys import ordered_fields, subsections
from tf_transformer.recipe.prepared import prepared_files
from tf_transformer.recipe.schema import RECIPES, recipe_class
from tf_transformer.recipe.yaml_tree import PLAIN_WORDS

_WIDTH = 100
_HEAD = (
    "# A complete recipe. Keys that are left out have the values shown here.",
    "# Paths start at the folder of this file; on the command line they start at the current folder.",
)


class _Dumper(yaml.SafeDumper):
    """Writes text in quotes wherever this package or another YAML reader would take it for something else."""


for _tag, _pattern, _first in PLAIN_WORDS:
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)


def plain(value: Any) -> Any:
    """A section, or any value in one, as the mappings, lists, text and numbers that YAML and JSON hold."""
    if isinstance(value, Section):
        return {name: plain(getattr(value, name)) for name, _ in ordered_fields(type(value))}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def dump_recipe(recipe: Recipe) -> str:
    """The recipe as YAML with every key written out; :func:`load_recipe` reads it back as it was."""
    return "# Resolved by tf-transformer: every key, as it was used.\n" + yaml_text(plain(recipe))


def data_files(recipe: Recipe) -> list[Path]:
    """The files that a recipe names, each once, in its order."""
    data = recipe.data
    entries = [*data.train_entries, *data.dev_sets.values(), *data.test_sets.values()]
    prepared = getattr(data, "prepared", None)
    others = [getattr(recipe, name) for name, _ in ordered_fields(type(recipe)) if name != "data"]
    parts = [*entries, *(section for section in others if isinstance(section, Section))]
    paths = [*([prepared] if prepared else []), *(path for part in parts for path in _paths(part))]
    return list(dict.fromkeys(paths))


def with_files(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with a record of each file it names: where it is and what it holds.

    Args:
        recipe: A recipe whose files are there; they are read for their checksums.
        folder: The folder of the recipe, which relative paths start at.

    Raises:
        OSError: When a file cannot be read.
        RecipeError: When prepared data is named that is not of this recipe.
    """
    records = []
    known = prepared_files(recipe)
    for path in data_files(recipe):
        content = known.get(path) or (folder_fingerprint(path) if path.is_dir() else fingerprint(path))
        relative = os.path.relpath(path, folder.absolute())
        records.append(
            FileRecord(path=str(path), relative=relative, size=content.size, sha256=content.sha256)
        )
    return recipe.model_copy(update={"files": tuple(records)})


def json_schema() -> dict[str, Any]:
    """The JSON Schema of recipes, for editors that complete and check YAML."""
    kinds: Any = Union[tuple(RECIPES.values())]  # noqa: UP007 - not known when this is written
    if len(RECIPES) > 1:
        kinds = Annotated[kinds, Field(discriminator="task")]
    schema = TypeAdapter(kinds).json_schema()
    for part in (schema, *schema["$defs"].values()):
        part.get("properties", {}).pop("files", None)
    del schema["$defs"]["FileRecord"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def commented_recipe(task: str = "translate") -> str:
    """A complete recipe with all defaults, each key under its help, written from the schema.

    Raises:
        RecipeError: When there is no such task.
    """
    return "\n".join([*_HEAD, *_section(recipe_class(task), ())]) + "\n"


def _section(section: type[Section], path: tuple[str, ...], told: set[str] | None = None) -> Iterator[str]:
    """Lines for the keys of a section; the help of a key that another form has told is left out."""
    indent = "  " * len(path)
    told = set() if told is None else told
    for name, field in ordered_fields(section):
        if name == "files" and not path:
            continue
        if not path:
            yield ""
        text = _help(field)
        if text not in told:
            mark = indent + "# "
            yield from textwrap.wrap(text, _WIDTH, initial_indent=mark, subsequent_indent=mark)
        told.add(text)
        yield from _value((*path, name), field, section, indent)


def _help(field: FieldInfo) -> str:
    annotation = field.annotation
    literal = next((a for a in (annotation, *get_args(annotation)) if get_origin(a) is Literal), None)
    choices = get_args(literal) if literal is not None else ()
    return (
        f"{field.description} ({', '.join(map(str, choices))})"
        if len(choices) > 1
        else str(field.description)
    )


def _value(path: tuple[str, ...], field: FieldInfo, section: type[Section], indent: str) -> Iterator[str]:
    """A key with its value; forms that may stand in its place follow as comments."""
    forms = [cls for cls, tags in subsections(field.annotation) if not tags & {"<list>", "<named>"}]
    if not forms:
        yield f"{indent}{path[-1]}: {_flow(_shown(path, field, section))}"
        return
    told: set[str] = set()
    optional = field.default is None and not field.is_required()
    if optional:
        yield f"{indent}{path[-1]}: null"
    else:
        yield f"{indent}{path[-1]}:"
        yield from _section(forms[0], path, told)
    for form in forms[0 if optional else 1 :]:
        yield f"{indent}# Or:"
        yield f"{indent}# {path[-1]}:"
        for line in _section(form, path, told):
            yield f"{indent}# {line.removeprefix(indent)}"


def _shown(path: tuple[str, ...], field: FieldInfo, section: type[Section]) -> Any:
    extra: Any = field.json_schema_extra
    if "examples" in extra:
        example = extra["examples"][0]
        return (
            example.replace("train", path[1]) if path[0] == "data" and isinstance(example, str) else example
        )
    if field.default_factory is not None:
        return plain(getattr(section(), path[-1])) if len(path) == 2 else None
    return plain(field.default)


def yaml_text(value: Any) -> str:
    """Plain values as YAML, which the reader of recipes takes for the same."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)


def _flow(value: Any) -> str:
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=True, width=10**6)
    return text.removesuffix("\n").removesuffix("...").strip()


def _paths(section: Section) -> list[Path]:
    values = [getattr(section, name) for name in type(section).model_fields]
    several = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    return [item for item in several if isinstance(item, Path)]
