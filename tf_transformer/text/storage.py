"""Folders of tokenizers on disk: written whole or not at all, and read with every file checked."""

import hashlib
import json
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tf_transformer.errors import TextError
from tf_transformer.files import parse_json, sync_folder, write_bytes

FORMAT = 1


def manifest_bytes(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """Returns a manifest as JSON with the format's number and the checksums of `files` added."""
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    whole = {"format": FORMAT, **manifest, "files": checksums}
    return (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def write_folder(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Writes a folder so that a reader finds the old one, none, or the whole new one.

    Args:
        folder: Where to; an existing folder of this kind is replaced.
        files: Content of each file by its path inside the folder, with forward slashes.

    Raises:
        TextError: The folder cannot be written.
    """
    target = Path(folder)
    try:
        _refuse_foreign(target, {name.split("/")[0] for name in files})
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as aside:
            staged = Path(aside) / "new"
            staged.mkdir()
            for name, content in files.items():
                (staged / name).parent.mkdir(parents=True, exist_ok=True)
                write_bytes(staged / name, content)
            if target.exists():  # a rename cannot replace a folder that holds something
                target.rename(Path(aside) / "old")
            staged.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise TextError(f"{target}: cannot write the tokenizer. Received: {error}") from error


def _refuse_foreign(target: Path, own: Collection[str]) -> None:
    """Keeps files that are not ours from being replaced with the folder that they are in."""
    if target.exists() and not target.is_dir():
        raise TextError(f"{target}: must be a folder, or not there yet. Received: a file")
    there = {entry.name for entry in target.iterdir()} if target.is_dir() else set()
    if there and not there & set(own):
        raise TextError(f"{target}: must be empty, or what was saved before. Received: {min(there)} in it")


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file.

    Raises:
        TextError: It cannot be read; the message names it. A device, which may have no end, is no file.
    """
    if path.exists() and not path.is_file():
        raise TextError(f"{path}: must be a file that can be read. Received: a folder or a device")
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise TextError(f"{path}: must be a file that can be read. Received: {reason}") from error


def read_manifest(path: Path) -> dict[str, Any]:
    """Returns a manifest as written by `manifest_bytes`.

    Raises:
        TextError: The file is missing, is no JSON object, or of a format that this version does not know.
    """
    content = read_bytes(path)
    try:
        manifest = parse_json(content)
    except ValueError as error:
        raise TextError(f"{path}: must be JSON in UTF-8. Received: {error}") from error
    if not isinstance(manifest, dict):
        raise TextError(f"{path}: must hold a JSON object. Received: {type(manifest).__name__}")
    if manifest.get("format") != FORMAT:
        raise TextError(f"{path}: format must be {FORMAT}. Received: {manifest.get('format')!r}")
    return manifest


def field(manifest: Mapping[str, Any], path: Path, name: str, kind: type) -> Any:
    """Returns one entry of a manifest.

    Raises:
        TextError: It is missing or of another type.
    """
    value = manifest.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TextError(f"{path}: `{name}` must be of type {kind.__name__}. Received: {value!r}")
    return value


def check_unchanged(path: Path, content: bytes, manifest_path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuses a file that is not the one that was saved: its ids may have moved.

    Raises:
        TextError: The checksum differs from the one in the manifest.
    """
    expected = field(manifest, manifest_path, "files", dict).get(path.name)
    received = hashlib.sha256(content).hexdigest()
    if received != expected:
        raise TextError(
            f"{path}: must be the file that was saved, SHA-256 {expected} as {manifest_path.name} says. "
            f"Received: SHA-256 {received}"
        )
