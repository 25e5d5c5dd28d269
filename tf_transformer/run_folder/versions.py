"""What wrote a run: the format of its folder, and the versions of the packages."""

import importlib.metadata
import platform
from contextlib import suppress
from typing import Any

from tf_transformer import __version__
from tf_transformer.run_folder.formats import RUN_FORMAT

_PACKAGES = ("tensorflow", "keras", "tensorflow-text", "keras-nlp", "sentencepiece", "sacrebleu", "numpy")


def versions() -> dict[str, Any]:
    """The format of run folders, and the versions of what writes them; imports none of it."""
    found: dict[str, Any] = {
        "run_format": RUN_FORMAT,
        "tf_transformer": __version__,
        "python": platform.python_version(),
    }
    for package in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package.replace("-", "_")] = importlib.metadata.version(package)
    return found
