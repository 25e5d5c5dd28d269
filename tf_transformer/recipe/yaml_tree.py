"""YAML into plain values that remember their lines; nothing in a file is executed, and its size is bounded.

Only ``true`` and ``false`` are truth values here: a language called ``no`` stays text. ``1e-4`` is a number.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import yaml

Path = tuple[str | int, ...]
"""Where a value stands: ``("data", "train", 0, "source")``."""

MOST_CHARACTERS = 1_000_000
TOO_LONG = f"longer than {MOST_CHARACTERS} characters, which is no recipe"
MOST_VALUES = 20_000
MOST_LEVELS = 20
_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*$")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
)


class _Loader(yaml.SafeLoader):
    """Composes nodes; which plain words are no text is decided by the few rules below."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]  # so it is in PyYAML


PLAIN_WORDS: tuple[tuple[str, re.Pattern[str], list[str]], ...] = (
    (_TAG + "bool", re.compile(r"(true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    (_TAG + "null", re.compile(r"(~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    (_TAG + "int", _INTEGER, list("-+0123456789")),
    (_TAG + "float", _FLOAT, list("-+.0123456789")),
)
"""Tag, pattern and first letters of each kind of plain word that is no text."""

for _name, _pattern, _first in PLAIN_WORDS:
    _Loader.add_implicit_resolver(_name, _pattern, _first)


@dataclass
class Tree:
    """What a document holds.

    Args:
        data: Mappings, lists, text, numbers, truth values and None.
        lines: 1-based line of each key or value, by path.
        faults: Line, path and rule of what YAML allows and a recipe does not.
    """

    data: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[tuple[int, Path, str]] = field(default_factory=list)


class YamlFault(Exception):
    """A document that cannot be read at all; ``line`` and ``column`` count from 1."""

    def __init__(self, rule: str, line: int = 1, column: int | None = None) -> None:
        super().__init__(rule)
        self.rule, self.line, self.column = rule, line, column


def read_tree(text: str) -> Tree:
    """Reads one YAML document.

    Raises:
        YamlFault: When it is no YAML, too large, nested too deeply or holds itself.
    """
    if len(text) > MOST_CHARACTERS:
        raise YamlFault(TOO_LONG)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        rule = _plain_words(error.problem or error.context or "not valid YAML")
        raise YamlFault(rule, *((mark.line + 1, mark.column + 1) if mark else (1,))) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlFault(f"character U+{ord(text[error.position]):04X} may not stand in YAML", line) from None
    except RecursionError:
        raise YamlFault("nested too deeply") from None
    if node is None:
        return Tree()
    builder = _Builder()
    builder.tree.data = builder.build(node, ())
    return builder.tree


def _plain_words(problem: str) -> str:
    if "\\t" in problem:
        return "a tab may not indent; use spaces"
    if problem == "but found another document":
        return "another YAML document begins here, and a recipe is one; remove the line ---"
    return problem.splitlines()[0]


class _Builder:
    """Turns nodes into values; each use of an anchor counts, so that few lines cannot become many values."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.count = 0

    def build(self, node: yaml.Node, path: Path) -> Any:
        line = node.start_mark.line + 1
        self.count += 1
        if self.count > MOST_VALUES:
            raise YamlFault(f"more than {MOST_VALUES} values once anchors are written out", line)
        if len(path) > MOST_LEVELS:
            raise YamlFault(f"nested more than {MOST_LEVELS} levels deep", line)
        self.tree.lines.setdefault(path, line)
        kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if isinstance(node, yaml.CollectionNode) and node.tag != _TAG + kind:
            self.tree.faults.append((line, path, f"the tag {node.tag} is not allowed in a recipe"))
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(str(node.tag), str(node.value), path, line)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for name, value in node.value:
            line = name.start_mark.line + 1
            if not isinstance(name, yaml.ScalarNode):
                self.tree.faults.append((line, path, "a key must be one word"))
            elif name.value == "<<":
                merged = {**self._merge(value, path, line), **merged}
            elif name.value in values:
                first = self.tree.lines[(*path, name.value)]
                rule = f"this key stands here twice; first on line {first}"
                self.tree.faults.append((line, (*path, name.value), rule))
            else:
                self.tree.lines[(*path, name.value)] = line
                values[name.value] = self.build(value, (*path, name.value))
        return {**merged, **values}

    def _merge(self, node: yaml.Node, path: Path, line: int) -> dict[str, Any]:
        """Reads ``<<: *anchor``: keys taken over unless they are given."""
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        found: dict[str, Any] = {}
        for item in reversed(nodes):
            value = self.build(item, path)
            if not isinstance(value, Mapping):
                self.tree.faults.append((line, path, "<< must name a mapping"))
            else:
                found.update(value)
        return found

    def _scalar(self, tag: str, text: str, path: Path, line: int) -> Any:
        kind = tag.removeprefix(_TAG)
        try:
            match kind:
                case "str":
                    return text
                case "null":
                    return None
                case "bool":
                    return {"true": True, "false": False}[text.lower()]
                case "int":
                    return int(text)
                case "float":
                    return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        except (ValueError, KeyError):
            self.tree.faults.append((line, path, f"not a readable {kind}"))
            return None
        self.tree.faults.append((line, path, f"the tag {tag} is not allowed in a recipe"))
        return None
