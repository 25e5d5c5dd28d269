"""Reads a recipe: YAML and overrides into a checked, frozen :class:`Recipe`, or all of its faults at once."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tf_transformer.errors import RecipeError, printable
from tf_transformer.recipe.base import Recipe
from tf_transformer.recipe.beginnings import RECIPE, WHERE, beginning_faults, begun_from, with_keys_of
from tf_transformer.recipe.fault import Fault, shown
from tf_transformer.recipe.faults import faults_of, task_fault
from tf_transformer.recipe.fields import Section
from tf_transformer.recipe.overrides import OverrideFault, apply_override
from tf_transformer.recipe.schema import RECIPES
from tf_transformer.recipe.yaml_tree import MOST_CHARACTERS, TOO_LONG, Tree, YamlFault, read_tree
from tf_transformer.recipe.yaml_tree import Path as KeyPath

_COMMAND_LINE = "command line"
_MOST_BYTES = 4 * MOST_CHARACTERS


def load_recipe(
    path: Path,
    overrides: Sequence[str] = (),
    *,
    check_files: bool = True,
    upgrade: Callable[[Any], Any] | None = None,
) -> Recipe:
    """Reads and checks a recipe.

    Args:
        path: The YAML file. Paths in it are relative to its folder.
        overrides: Texts ``section.key=value`` that replace values of the file. Paths in them are relative
            to the current folder, as on any command line.
        check_files: Whether a data file that is missing is a fault.
        upgrade: Takes the values of the file, and gives those that they mean now.

    Returns:
        The recipe with every default filled in and every path absolute.

    Raises:
        RecipeError: With one line for each fault:
            ``FILE:LINE: key: rule; received …; nearest valid key is …``.
    """
    tree = _read_file(path)
    if upgrade is not None:
        tree = replace(tree, data=upgrade(tree.data))
    return _Reading(str(path), tree, path.absolute().parent, check_files).recipe(overrides)


def parse_recipe(text: str, name: str, folder: Path) -> Recipe:
    """Reads and checks a recipe that is no file of its own; the files that it names need not be there.

    Args:
        text: The recipe, as YAML.
        name: What faults call it.
        folder: Where paths in it begin.

    Raises:
        RecipeError: As for `load_recipe`.
    """
    try:
        tree = read_tree(text)
    except YamlFault as fault:
        raise RecipeError(f"{name}:{fault.line}: {fault.rule}") from None
    return _Reading(name, tree, folder.absolute(), check_files=False).recipe(())


def _read_file(path: Path) -> Tree:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)  # a device would never end
        if len(content) > _MOST_BYTES:
            raise YamlFault(TOO_LONG)
        return read_tree(content.decode("utf-8-sig"))
    except FileNotFoundError:
        raise RecipeError(f"{path}: there is no such recipe") from None
    except IsADirectoryError:
        raise RecipeError(f"{path}: is a folder; name the recipe's YAML file in it") from None
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        raise RecipeError(f"{path}:{line}: must be UTF-8; received the byte 0x{byte:02X}") from None
    except YamlFault as fault:
        column = f":{fault.column}" if fault.column else ""
        raise RecipeError(f"{path}:{fault.line}{column}: {fault.rule}") from None


class _Reading:
    """One reading of one recipe; gathers the faults with the line that each is on, 0 for the command line."""

    def __init__(self, name: str, tree: Tree, folder: Path, check_files: bool) -> None:
        self.name, self.tree = name, tree
        self.context = {"folder": folder, "check_files": check_files}
        self.found: list[tuple[int, str]] = []
        self.overridden: set[KeyPath] = set()
        # Where something is told already: what follows from it is not.
        self.told: set[KeyPath] = {key for _, key, _ in tree.faults if key}

    def recipe(self, overrides: Sequence[str]) -> Recipe:
        for line, key, rule in self.tree.faults:
            self.found.append((line, f"{self.name}:{line}: {Fault(key, rule).text()}"))
        data = self._top()
        for text in overrides:
            try:
                self.overridden.add(apply_override(data, text))
            except OverrideFault as fault:
                self.found.append((0, printable(f"{_COMMAND_LINE}: {fault}; received {shown(text)}")))
                self.told.add(tuple(text.partition("=")[0].strip().split(".")))
        recipe = self._validate(data)
        if self.found or recipe is None:
            raise RecipeError([text for _, text in sorted(self.found, key=lambda item: item[0])])
        return recipe.completed()

    def _top(self) -> dict[str, Any]:
        data = self.tree.data
        if data is None and self.found:
            raise RecipeError([text for _, text in self.found])
        if data is None:
            raise RecipeError(f"{self.name}:1: is empty; `tf-transformer recipe` prints a complete recipe")
        if not isinstance(data, dict):
            raise RecipeError(f"{self.name}:1: must be sections of keys; received {shown(data)}")
        # `model:` with nothing but comments under it means the defaults.
        names = {name for schema in RECIPES.values() for name in _sections(schema)}
        return {key: {} if value is None and key in names else value for key, value in data.items()}

    def _validate(self, data: dict[str, Any]) -> Recipe | None:
        fault = task_fault(data)
        if fault is None:
            recipe, faults = self._begun(data, RECIPES[data["task"]])
            self._add(faults)
            return recipe
        # What is wrong whatever the task is told beside.
        first, *others = ([*self._checked(data, schema)[1]] for schema in RECIPES.values())
        self._add([fault, *(fault for fault in first if all(fault in found for found in others))])
        return None

    def _begun(self, data: dict[str, Any], schema: type[Recipe]) -> tuple[Recipe | None, list[Fault]]:
        """As ``_checked``, with the keys of the run that the recipe begins from, where it names one."""
        run = begun_from(data, self.context)
        if run is None:
            return self._checked(data, schema)
        old, rule = None, ""
        try:
            old = load_recipe(run / RECIPE, check_files=False)
        except RecipeError as error:
            rule = f"must be a run whose recipe can be read: {error}"
        if old is None or old.task != data["task"]:
            rule = rule or f"must be a run of the task {data['task']}, and {run} is one of {old and old.task}"
            recipe, faults = self._checked(data, schema)
            return recipe, [*faults, Fault(WHERE, rule, others=(("task",),))]
        filled = with_keys_of(data, old)
        recipe, faults = self._checked(filled, schema)
        sections = self._sound_sections(filled, schema)
        return recipe, [*faults, *beginning_faults(data, old, run, sections.get)]

    def _checked(self, data: dict[str, Any], schema: type[Recipe]) -> tuple[Recipe | None, list[Fault]]:
        """The recipe of a task, where the values are right in themselves, and the faults."""
        recipe, faults = None, []
        try:
            recipe = schema.model_validate(data, context=self.context)
        except ValidationError as error:
            faults = faults_of(error, data, schema)
        sections = self._sound_sections(data, schema)
        for names, rule in schema.RULES:
            if all(name in sections for name in names):
                faults += rule(*(sections[name] for name in names))
        return recipe, faults

    def _sound_sections(self, data: dict[str, Any], schema: type[Recipe]) -> dict[str, Section]:
        """The sections that are right in themselves: rules between keys are told together with the rest."""
        found = {}
        for name, section in _sections(schema).items():
            with suppress(ValidationError):
                found[name] = section.model_validate(data.get(name, {}), context=self.context)
        return found

    def _add(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            if any(_is_part(fault.path, path) or _is_part(path, fault.path) for path in self.told):
                continue
            if self._is_of_an_override(fault):
                self.found.append((0, f"{_COMMAND_LINE}: {fault.text()}"))
            else:
                line = self.tree.lines.get(self._known(fault.path), 1)
                self.found.append((line, f"{self.name}:{line}: {fault.text()}"))

    def _is_of_an_override(self, fault: Fault) -> bool:
        """Whether what is wrong, or what it is wrong with, stands on the command line."""
        # A section that is not in the file was made by an override, with all that it lacks.
        depth = len(self._known(fault.path)) + 1
        return any(
            any(_is_part(path, place) for path in (fault.path, *fault.others))
            or any(_is_part(place, other) for other in fault.others)
            or place[:depth] == fault.path[:depth]
            for place in self.overridden
        )

    def _known(self, path: KeyPath) -> KeyPath:
        """The longest beginning of a path that stands in the file."""
        lengths = range(len(path), -1, -1)
        return next((path[:length] for length in lengths if path[:length] in self.tree.lines), ())


def _sections(schema: type[Recipe]) -> dict[str, type[Section]]:
    """The sections of a recipe, by name."""
    return {
        name: field.annotation
        for name, field in schema.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
    }


def _is_part(path: KeyPath, whole: KeyPath) -> bool:
    """Whether a path leads to something in the value at another one, or to that value; all is in the top."""
    return path[: len(whole)] == whole and bool(whole)
