"""What is in the folder of an export, and whether it changes."""

from collections.abc import Mapping
from pathlib import Path

from tf_transformer.manifest import MANIFEST, version_folders

State = Mapping[str, tuple[int, int]]
"""Length and time of change of each file, by its path inside the folder."""


def versions_in(folder: Path) -> dict[int, Path]:
    """The folders of versions by number; ``folder`` itself when it is one."""
    if (folder / MANIFEST).exists():
        return {int(folder.name) if folder.name.isdecimal() else 1: folder}
    try:
        return version_folders(folder)
    except OSError:  # the folder is away, as while it is replaced: what is served goes on
        return {}


def state_of(folder: Path) -> State:
    """What tells whether anything in a version has changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        try:
            status = path.stat()
        except OSError:  # gone between two calls
            continue
        found[path.relative_to(folder).as_posix()] = (status.st_size, status.st_mtime_ns)
    return found
