"""The next version of an exported folder: written aside, then renamed into place, or nothing left behind."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tf_transformer.errors import ExportError
from tf_transformer.files import sync_folder, write_text
from tf_transformer.manifest import CARD, Manifest, export_fault, next_version, write_manifest
from tf_transformer.presets import ExportKind

Card = Callable[[Manifest, str], str]
"""The manifest of a version and its number to the text of its model card."""


def write_version(
    folder: Path, kind: ExportKind, write: Callable[[Path], Manifest], card: Card | None = None
) -> tuple[Path, Manifest]:
    """Writes the next version under ``folder``.

    Args:
        folder: The export's folder; versions are its numbered subfolders.
        kind: What the version is for.
        write: Writes a version into the folder that it is given, verifies it, and says what it is.
        card: Makes its model card. The manifest does not vouch for it: people may go on writing there.

    Returns:
        The folder of the new version, and its manifest.

    Raises:
        ExportError: When the folder cannot be written, or ``write`` says so; nothing is left behind then.
    """
    if fault := export_fault(folder, kind):
        raise ExportError(fault)
    version, is_new = next_version(folder), not folder.exists()
    aside = folder / f".{version}.writing"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        manifest = write(aside)
        write_manifest(aside, manifest)
        if card is not None:
            write_text(aside / CARD, card(manifest, str(version)))
        sync_folder(aside)
        aside.rename(folder / str(version))
        sync_folder(folder)
    except OSError as error:
        raise ExportError(f"{folder}: cannot write the export ({error})") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # only an empty folder can be removed: one where the export failed
                folder.rmdir()
    return folder / str(version), manifest
