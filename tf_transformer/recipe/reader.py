"""Reads a recipe: YAML and overrides into a checked, frozen :class:`Recipe`, or all of its faults at once."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tf_transformer.errors import RecipeError
from tf_transformer.recipe.faults import Fault, faults_of, shown
from tf_transformer.recipe.fields import Section
from tf_transformer.recipe.overrides import OverrideFault, apply_override
from tf_transformer.recipe.rules import complete, faults_between
from tf_transformer.recipe.schema import Recipe
from tf_transformer.recipe.yaml_tree import Path as KeyPath
from tf_transformer.recipe.yaml_tree import Tree, YamlFault, read_tree

_COMMAND_LINE = "command line"
_SECTIONS: dict[str, type[Section]] = {
    name: field.annotation
    for name, field in Recipe.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
}


def load_recipe(path: Path, overrides: Sequence[str] = (), *, check_files: bool = True) -> Recipe:
    """Reads and checks a recipe.

    Args:
        path: The YAML file. Paths in it are relative to its folder.
        overrides: Texts ``section.key=value`` that replace values of the file. Paths in them are relative
            to the current folder, as on any command line.
        check_files: Whether a data file that is missing is a fault.

    Returns:
        The recipe with every default filled in and every path absolute.

    Raises:
        RecipeError: With one line for each fault:
            ``FILE:LINE: key: rule; received …; nearest valid key is …``.
    """
    tree = _read_file(path)
    return _Reading(str(path), tree, path.absolute().parent, check_files).recipe(overrides)


def _read_file(path: Path) -> Tree:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return read_tree(text)
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

    def recipe(self, overrides: Sequence[str]) -> Recipe:
        for line, key, rule in self.tree.faults:
            self.found.append((line, f"{self.name}:{line}: {Fault(key, rule).text()}"))
        data = self._top()
        for text in overrides:
            try:
                self.overridden.add(apply_override(data, text))
            except OverrideFault as fault:
                self.found.append((0, f"{_COMMAND_LINE}: {fault}; received {shown(text)}"))
        recipe = self._validate(data)
        if self.found or recipe is None:
            raise RecipeError([text for _, text in sorted(self.found, key=lambda item: item[0])])
        return complete(recipe)

    def _top(self) -> dict[str, Any]:
        data = self.tree.data
        if data is None:
            raise RecipeError(f"{self.name}:1: is empty; `tf-transformer recipe` prints a complete recipe")
        if not isinstance(data, dict):
            raise RecipeError(f"{self.name}:1: must be sections of keys; received {shown(data)}")
        # `model:` with nothing but comments under it means the defaults.
        return {key: {} if value is None and key in _SECTIONS else value for key, value in data.items()}

    def _validate(self, data: dict[str, Any]) -> Recipe | None:
        try:
            recipe = Recipe.model_validate(data, context=self.context)
        except ValidationError as error:
            recipe = None
            told = {key for _, key, _ in self.tree.faults}
            self._add(fault for fault in faults_of(error, data) if fault.path not in told)
        self._add(faults_between(self._sound_sections(data)))
        return recipe

    def _sound_sections(self, data: dict[str, Any]) -> dict[str, Section]:
        """The sections that are right in themselves: rules between keys are told together with the rest."""
        found = {}
        for name, section in _SECTIONS.items():
            with suppress(ValidationError):
                found[name] = section.model_validate(data.get(name, {}), context=self.context)
        return found

    def _add(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            paths = [fault.path[:length] for length in range(len(fault.path), -1, -1)]
            if any(path in self.overridden for path in paths):
                self.found.append((0, f"{_COMMAND_LINE}: {fault.text()}"))
            else:
                line = next((self.tree.lines[path] for path in paths if path in self.tree.lines), 1)
                self.found.append((line, f"{self.name}:{line}: {fault.text()}"))
