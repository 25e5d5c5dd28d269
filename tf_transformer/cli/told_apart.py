"""Names for runs that are listed or drawn together."""

from collections.abc import Sequence
from pathlib import Path


def told_apart(folders: Sequence[Path]) -> dict[str, Path]:
    """Folders, each once, by as much of the end of their paths as tells them apart and is no mere number."""
    parts = {folder.resolve().parts: folder for folder in folders}
    longest = max((len(path) for path in parts), default=0)
    for length in range(1, longest + 1):
        names = {"/".join(path[-length:]): folder for path, folder in parts.items()}
        if len(names) == len(parts) and not any(map(str.isdecimal, names)):
            return names
    return {}


def run_name(folder: Path) -> str:
    """What a run is called, such as ``quickstart``, or ``digits-1`` for ``digits/1``."""
    return next(iter(told_apart([folder])), folder.name).replace("/", "-")
