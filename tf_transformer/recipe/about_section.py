"""The ``about`` section: what a person says of the finished model. Nothing of a training hangs on it."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

from tf_transformer.recipe.fields import Section, key

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def _line(value: Any) -> Any:
    if isinstance(value, str) and len(value.splitlines()) != 1:
        raise PydanticCustomError("line", "must be words on one line")
    return value


def _language(value: Any) -> Any:
    if isinstance(value, str) and not _LANGUAGE.fullmatch(value):
        raise PydanticCustomError("language", "must be the tag of a language, such as de or zh-Hant")
    return value


Line = Annotated[str, BeforeValidator(_line), Field(max_length=200)]
"""Words on one line."""
Words = Annotated[str, Field(min_length=1, max_length=5000)]
"""Words on as many lines as are needed."""
Language = Annotated[str, BeforeValidator(_language), Field(max_length=35)]
"""A tag of a language, such as `de` or `zh-Hant`."""
Languages = Annotated[tuple[Language, ...], Strict(False), Field(max_length=200)]
LICENCE = "Licence of this data, for the model card: a short name such as CC-BY-4.0."


class About(Section):
    """What the model card of an export says beside what the run knows."""

    name: Line | None = key(None, "What the model is called; by default as its run.", midway="free")
    languages: Languages = key((), "Tags of the languages that it is for, such as [en, de].", midway="free")
    licence: Line | None = key(None, "Licence of the model: a short name such as Apache-2.0.", midway="free")
    description: Words | None = key(None, "What it is for; a blank line begins a paragraph.", midway="free")
    limits: Words | None = key(None, "What it is not for, and where it is known to err.", midway="free")
    contact: Line | None = key(None, "Where to write about it.", midway="free")


def is_remark(path: str) -> bool:
    """Whether a key, in dots, only says something to people: no figure and no checkpoint hangs on it."""
    return path.startswith("about.") or path.endswith(".licence")
