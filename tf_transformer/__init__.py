"""Train, evaluate, export and serve Transformers with Keras and TensorFlow.

Nothing heavy is imported here: a public name below is looked up when it is first used (PEP 562).
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tf_transformer import layers, losses, metrics, models, schedules, tasks, text
    from tf_transformer.build import load
    from tf_transformer.errors import (
        DataError,
        ExportError,
        ProjectError,
        RecipeError,
        RunError,
        ServingError,
        TextError,
    )

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "ExportError",
    "ProjectError",
    "RecipeError",
    "RunError",
    "ServingError",
    "TextError",
    "__version__",
    "layers",
    "load",
    "losses",
    "metrics",
    "models",
    "schedules",
    "tasks",
    "text",
]

_HOMES = {"load": "build"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tf_transformer' has no attribute {name!r}")
    if name.endswith("Error"):
        return getattr(importlib.import_module("tf_transformer.errors"), name)
    if name in _HOMES:
        return getattr(importlib.import_module(f"tf_transformer.{_HOMES[name]}"), name)
    return importlib.import_module(f"tf_transformer.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
