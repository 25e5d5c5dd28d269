"""The errors of the project, for whoever wants to catch them.

::

    Exception
    └── ProjectError      every error below; the command line prints it as one line
        ├── RecipeError   a recipe, or an override of it, that cannot be run (exit code 2)
        ├── DataError     a corpus that cannot be read rightly
        ├── TextError     a tokenizer or vocabulary that cannot be built, read or used
        ├── RunError      a run folder that is missing, incomplete, damaged or of another recipe
        ├── ExportError   an export that cannot be made, loaded or verified
        └── ServingError  a server that cannot be started

People who call the library with wrong arguments get ``ValueError`` or ``TypeError``.
"""

import re
from collections.abc import Sequence

# Control characters but the tab, what turns the direction of writing, and what ends a line for some programs.
_OBEYED = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Text that a terminal shows and does not obey: each character that would do something is written out."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def counted(count: int, one: str, several: str = "") -> str:
    """A number with its noun, such as ``1 line`` and ``1,234 lines``."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def clock(seconds: float) -> str:
    """Seconds as ``h:mm:ss`` or ``m:ss``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProjectError(Exception):
    """Base of every error that the project raises about files, recipes and runs."""

    exit_code = 1


class RecipeError(ProjectError):
    """A recipe that cannot be run.

    Args:
        faults: One line for each fault; all of them are reported together.
    """

    exit_code = 2

    def __init__(self, faults: str | Sequence[str]) -> None:
        self.faults = [faults] if isinstance(faults, str) else list(faults)
        super().__init__("\n".join(self.faults))


class DataError(ProjectError):
    """A corpus that cannot be read without losing or misaligning something."""


class TextError(ProjectError):
    """A tokenizer or vocabulary that cannot be built, read or used."""


class RunError(ProjectError):
    """A run folder that is missing, incomplete, damaged, in use, or of another recipe."""


class ExportError(ProjectError):
    """An export that cannot be made, loaded or verified."""


class ServingError(ProjectError):
    """A server that cannot be started."""
