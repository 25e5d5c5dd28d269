"""Faults of a recipe in plain words: key, rule, received value, nearest valid key."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tf_transformer.recipe.base import Recipe
from tf_transformer.recipe.fault import NOTHING, Fault, number
from tf_transformer.recipe.keys import help_of, keys_of, nearest_key, schema_keys, schema_path
from tf_transformer.recipe.schema import RECIPES
from tf_transformer.recipe.yaml_tree import Path

_RULES = {
    "missing": "is required",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "string_type": "must be text; put quotes round a number",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must be a name of letters, digits, '.', '_' and '-'",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "model_type": "must be a section of keys",
    "model_attributes_type": "must be a section of keys",
    "dict_type": "must be a section of keys",
    "tuple_type": "must be a list",
    "too_short": "must not be empty",
}


def task_fault(data: Mapping[str, Any]) -> Fault | None:
    """What is wrong with the key ``task``, or None."""
    task = data.get("task", NOTHING)
    if task is NOTHING:
        return Fault(("task",), f"is required: {help_of(('task',), Recipe)}")
    if isinstance(task, str) and task in RECIPES:
        return None
    return _choice(("task",), ", ".join(RECIPES), task)


def faults_of(error: ValidationError, data: Any, schema: type[Recipe]) -> list[Fault]:
    """The faults that pydantic found in ``data``, each told once; that of the task is told elsewhere."""
    faults: dict[Path, Fault] = {}
    meant: set[Path | None] = set()
    details = error.errors(include_url=False)
    for detail in details:
        if detail["type"] == "extra_forbidden":
            meant.add(nearest_key(*_locate(detail, data), schema))
    for detail in details:
        fault = _fault(detail, data, schema)
        if (
            fault is not None
            and fault.path != ("task",)
            and not (detail["type"] == "missing" and fault.path in meant)
        ):
            faults.setdefault(fault.path, fault)
    return list(faults.values())


def _fault(detail: ErrorDetails, data: Any, schema: type[Recipe]) -> Fault | None:
    kind, context, received = detail["type"], detail.get("ctx", {}), detail["input"]
    path, forms = _locate(detail, data)
    if kind == "extra_forbidden":
        return _unknown(path, forms, received, schema)
    if kind == "missing":
        return Fault(path, f"is required: {help_of(path, schema)}")
    if kind == "literal_error":
        return _choice(path, context["expected"].replace(" or ", ", "), received)
    if kind == "union_tag_invalid":
        expected = context["expected_tags"].replace("<", "").replace(">", "")
        return _choice(
            (*path, "name"), expected, received.get("name") if isinstance(received, Mapping) else received
        )
    if kind == "default_factory_not_called" or (kind == "too_short" and received):
        return None  # follows from another fault, which is told
    # Messages of the schema's own may hold braces, as file names do.
    limits = {name: number(value) for name, value in context.items()}
    rule = _RULES[kind].format(**limits) if kind in _RULES else detail["msg"]
    return Fault(path, rule, received)


def _unknown(path: Path, forms: frozenset[str], received: Any, schema: type[Recipe]) -> Fault:
    near, section = nearest_key(path, forms, schema), path[:-1]
    hint = f"nearest valid key is {'.'.join(map(str, near))}" if near else ""
    valid, tasks = keys_of(section, forms, schema), _tasks_with(path, schema)
    if tasks:
        hint = f"it is a key of the task {' and '.join(tasks)}"
    elif not near and valid:
        hint = f"valid keys {'here' if section else 'at the top'} are {', '.join(valid)}"
    # Which keys are valid hangs on the form of the section, which these decide.
    deciding = ("table", "fraction") if path[0] == "data" else ("name",)
    others = tuple((*section, name) for name in deciding) if forms else ()
    return Fault(path, "unknown key", received, hint, others)


def _tasks_with(path: Path, schema: type[Recipe]) -> list[str]:
    """The other tasks that have such a key; none where this one has it too, in another form."""
    if schema_path(path, schema) in {key.path for key in schema_keys(schema)}:
        return []
    others = ((task, other) for task, other in RECIPES.items() if other is not schema)
    return [
        task for task, other in others if schema_path(path, other) in {key.path for key in schema_keys(other)}
    ]


def _choice(path: Path, expected: str, received: Any) -> Fault:
    names = [name.strip().strip("'") for name in expected.split(",")]
    near = get_close_matches(received.lower(), names, n=1) if isinstance(received, str) else []
    rule = f"must be {names[0]}" if len(names) == 1 else f"must be one of {', '.join(names)}"
    return Fault(path, rule, received, f"nearest valid value is {near[0]}" if near else "")


def _locate(detail: ErrorDetails, data: Any) -> tuple[Path, frozenset[str]]:
    """Follows pydantic's location through the values; what is no key there is the name of a form."""
    path: list[str | int] = []
    forms = set()
    place = data
    for part in detail["loc"]:
        if isinstance(place, dict) and part in place:
            place = place[str(part)]
        elif isinstance(place, list) and isinstance(part, int) and part < len(place):
            place = place[part]
        else:
            if isinstance(part, str) and part.startswith("<"):
                forms.add(part)
            continue
        path.append(part)
    if detail["type"] == "missing":
        path.append(detail["loc"][-1])
    return tuple(path), frozenset(forms)
