"""The errors of the project, for whoever wants to catch them.

::

    Exception
    └── ProjectError      every error below; the command line prints it as one line
        ├── RecipeError   a recipe, or an override of it, that cannot be run (exit code 2)
        ├── DataError     a corpus that cannot be read rightly
        ├── TextError     a tokenizer or vocabulary that cannot be built, read or used
        ├── RunError      a run folder that is missing, incomplete, damaged or of another recipe
        └── ExportError   an export that cannot be made, loaded or verified

People who call the library with wrong arguments get ``ValueError`` or ``TypeError``.
"""

from collections.abc import Sequence


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
