"""What the keys of a recipe are made of: the section class, the kinds of value, and the marks on each key."""

import math
import os.path
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from tf_transformer.files import is_utf8

Midway = Literal["free", "logged", "refused"]
"""What a changed value does to a half-done run: taken; taken and logged as an event; refused."""

MOST_UPDATES = 10**9
MOST_PIECES = 10**6
PREPARED_INDEX = "index.json"
"""The file in a folder of prepared data that says what is there; written last."""
TABLE_ENDINGS = (".tsv", ".tab", ".csv", ".jsonl", ".ndjson")
"""Endings that tell what kind of table a file is; ``.gz`` may follow."""


class Section(BaseModel):
    """A frozen group of keys; unknown keys, wrong types and numbers that are not finite are faults."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, validate_default=False
    )

    @classmethod
    def own_keys(cls, given: Mapping[str, Any]) -> frozenset[str]:
        """Keys that a recipe which begins from a run does not take from that run, nor shares with it.

        Args:
            given: The values of the section as the recipe gives them.
        """
        del given
        return frozenset()

    @model_validator(mode="before")
    @classmethod
    def _null_is_default(cls, values: Any) -> Any:
        """Takes null for a default that other keys decide, such as a preset's sizes."""
        if not isinstance(values, dict):
            return values
        made = {name for name, field in cls.model_fields.items() if field.default_factory is not None}
        return {name: value for name, value in values.items() if value is not None or name not in made}


def key(
    default: Any,
    help: str,
    *,
    midway: Midway,
    factory: Callable[[dict[str, Any]], Any] | None = None,
    example: Any = None,
    after: str | None = None,
    **rules: Any,
) -> Any:
    """Declares one key: default, help, rules and what a change midway means, each written only here.

    Args:
        default: The value when the key is left out; ``...`` makes the key required.
        help: One line for the commented recipe, the JSON Schema and editors.
        midway: What a change does to a half-done run.
        factory: Makes the default out of the section's keys above, in place of ``default``.
        example: What the commented recipe shows where the default says nothing.
        after: The key, of the section that this one extends, that it stands behind wherever keys are listed.
        **rules: Pydantic's bounds, such as ``gt`` and ``le``.
    """
    extra: dict[str, Any] = {"midway": midway}
    if example is not None:
        extra["examples"] = [example]
    if after is not None:
        extra["after"] = after
    if factory is not None:
        return Field(default_factory=factory, description=help, json_schema_extra=extra, **rules)
    return Field(default, description=help, json_schema_extra=extra, **rules)


class CommandLineText(str):
    """Text from an override: a path in it starts at the current folder, not at the recipe's."""

    __slots__ = ()


def _whole(value: Any) -> Any:
    """Takes ``1e4`` for 10000: YAML reads it as a float."""
    return int(value) if isinstance(value, float) and math.isfinite(value) and value.is_integer() else value


def _flag(value: Any) -> Any:
    """Takes YAML 1.1's other words for true and false where a truth value is wanted, and only there."""
    words = {"yes": True, "on": True, "no": False, "off": False}
    return words.get(value.lower(), value) if isinstance(value, str) else value


def _data_file(value: Any, info: ValidationInfo) -> Any:
    """Makes a path absolute, and a file that is missing a fault."""
    return (
        value if isinstance(value, Path) else _existing(absolute_path(value, info, "file"), info, _check_file)
    )


def _data_folder(value: Any, info: ValidationInfo) -> Any:
    """Makes a path absolute, and a folder that is missing a fault."""
    if isinstance(value, Path):
        return value
    return _existing(absolute_path(value, info, "folder"), info, _check_folder)


def _preset_file(value: Any, info: ValidationInfo) -> Any:
    """Takes the folder of a keras_nlp preset for the file in it that holds the weights."""
    if isinstance(value, Path):
        return value
    path = absolute_path(value, info, "file")
    if path.suffix not in (".h5", ".json"):
        path /= "model.weights.h5"
    return _existing(path, info, _check_file)


def _prepared_data(value: Any, info: ValidationInfo) -> Any:
    """Takes the folder of prepared data for the index in it, which may not be there yet."""
    if isinstance(value, Path):
        return value
    path = absolute_path(value, info, "folder")
    return path if path.name == PREPARED_INDEX else path / PREPARED_INDEX


def _existing(path: Path, info: ValidationInfo, check: Callable[[Path], None]) -> Path:
    if (info.context or {}).get("check_files", True):
        check(path)
    return path


def absolute_path(value: Any, info: ValidationInfo, kind: str) -> Path:
    """The path that a text means: from the recipe's folder, or from the current one in an override."""
    if not isinstance(value, str):
        raise PydanticCustomError("text", "must be a {kind}'s path, as text", {"kind": kind})
    if not value or "\0" in value:
        raise PydanticCustomError("text", "must be a {kind}'s path, not empty", {"kind": kind})
    context = info.context or {}
    if not is_utf8(Path(context.get("folder", ""), value)):
        raise PydanticCustomError("text", "must have a path in UTF-8: a run writes it down")
    base = Path.cwd() if isinstance(value, CommandLineText) else Path(context.get("folder", Path.cwd()))
    # normpath, not resolve: a link stays the name under which its owner knows the file.
    return Path(os.path.normpath((base / Path(value).expanduser()).absolute()))


def _check_folder(path: Path) -> None:
    if not path.is_dir():
        rule = "must be a folder, and {path} is a file" if path.exists() else "there is no folder {path}"
        raise PydanticCustomError("file", rule, {"path": str(path)})


def _check_file(path: Path) -> None:
    try:
        there, folder, regular = path.exists(), path.is_dir(), path.is_file()
    except OSError as error:
        raise PydanticCustomError("file", "cannot be looked at ({why})", {"why": error.strerror}) from None
    if folder:
        raise PydanticCustomError("file", "must be a file, and {path} is a folder", {"path": str(path)})
    if not there:
        raise PydanticCustomError("file", "there is no file {path}", {"path": str(path)})
    if not regular:  # it is read more than once: a pipe would be waited for, a device read for ever
        raise PydanticCustomError(
            "file", "must be a file, and {path} is a pipe or device", {"path": str(path)}
        )


def table_ending(path: Path) -> str:
    """The ending that tells what kind of table a file is, ``.gz`` aside; empty where none does."""
    name = path.name.lower().removesuffix(".gz")
    return next((ending for ending in TABLE_ENDINGS if name.endswith(ending)), "")


def _table_file(value: Any, info: ValidationInfo) -> Any:
    path = _data_file(value, info)
    if not table_ending(path):
        listed = ", ".join(TABLE_ENDINGS)
        raise PydanticCustomError("table", "must end in one of {listed}, .gz may follow", {"listed": listed})
    return path


def _arrays_file(value: Any, info: ValidationInfo) -> Any:
    path = _data_file(value, info)
    if path.suffix.lower() != ".npz":
        raise PydanticCustomError("arrays", "must end in .npz, as numpy.savez writes it")
    return path


def _encoding(value: Any) -> Any:
    """Lets through the names of encodings from bytes to text that Python knows."""
    if not isinstance(value, str):
        return value
    try:
        "a".encode(value)  # codecs.lookup would also find base64 and the like
    except (LookupError, ValueError):
        raise PydanticCustomError(
            "encoding", "must be a text encoding that Python knows, such as utf-8 or latin-1"
        ) from None
    return value


def _column(value: Any) -> Any:
    """Lets through a name that is not empty, or a number from 1."""
    good = (
        value >= 1
        if isinstance(value, int) and not isinstance(value, bool)
        else isinstance(value, str) and value
    )
    if not good:
        raise PydanticCustomError("column", "must be a column's name, or its number from 1")
    return value


def one_or_list(value: Any) -> str:
    """Tells a list from a single value."""
    return "<list>" if isinstance(value, list | tuple) else "<one>"


def _whole_or_auto(value: Any) -> Any:
    """Keeps text other than ``auto`` from being refused as no number alone."""
    if isinstance(value, str) and value != "auto":
        raise PydanticCustomError("auto", "must be a whole number or auto")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
OrAuto = BeforeValidator(_whole_or_auto)
Flag = Annotated[bool, BeforeValidator(_flag)]
DataFile = Annotated[Path, BeforeValidator(_data_file)]
PresetFile = Annotated[Path, BeforeValidator(_preset_file)]
PreparedData = Annotated[Path, BeforeValidator(_prepared_data)]
DataFolder = Annotated[Path, BeforeValidator(_data_folder)]
ArraysFile = Annotated[Path, BeforeValidator(_arrays_file)]
TableFile = Annotated[Path, BeforeValidator(_table_file)]
Column = Annotated[str | int, BeforeValidator(_column)]
Encoding = Annotated[str, BeforeValidator(_encoding)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=60)]
NormalForm = Literal["none", "nfc", "nfkc"]
