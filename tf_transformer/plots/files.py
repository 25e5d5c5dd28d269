"""Where pictures go: their kinds, and one way to write them."""

from pathlib import Path
from typing import TYPE_CHECKING

from tf_transformer.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (".png", ".svg")


def picture_fault(file: Path) -> str | None:
    """Why a file's name is none of a picture's, or None."""
    if file.suffix.lower() in KINDS:
        return None
    return f"{file}: a picture's name ends with {' or '.join(KINDS)}"


def save(figure: "Figure", file: Path) -> None:
    """Writes a figure, whole or not at all, in the format that its file's name says.

    Raises:
        ValueError: If the name is none of a picture's.
        OSError: If the file cannot be written.
    """
    if fault := picture_fault(file):
        raise ValueError(fault)
    with replacing(file) as opened:
        figure.savefig(opened, format=file.suffix.lower().removeprefix("."), dpi=150)
