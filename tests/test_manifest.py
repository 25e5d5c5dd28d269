"""The manifest of an export."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tf_transformer.errors import ExportError
from tf_transformer.manifest import MANIFEST_FORMAT, Manifest, read_manifest, write_manifest


def manifest(**values: Any) -> Manifest:
    fields = {
        "task": "translate",
        "signatures": ["n_best", "serving_default"],
        "source_vocabulary_size": 11,
        "target_vocabulary_size": 13,
        "verification": {"sentences": 5, "equal": True},
    }
    return Manifest(**{**fields, **values})


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    written = manifest(custom_ops=["SentencepieceOp"], python_modules=["tensorflow_text"], step=7)
    write_manifest(tmp_path, written)
    assert read_manifest(tmp_path) == written
    content = json.loads((tmp_path / "manifest.json").read_text())
    assert content["format"] == MANIFEST_FORMAT and content["custom_ops"] == ["SentencepieceOp"]


def test_it_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        manifest().step = 3  # type: ignore[misc]


def test_a_key_of_a_newer_package_is_passed_over(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest())
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "blue"}))
    assert read_manifest(tmp_path) == manifest()


def test_a_missing_manifest_means_an_unfinished_export(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"manifest\.json: no manifest, so this is not a finished export"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b'{"task": "tr', "invalid JSON: Unterminated"),
        (b'{"task": 3}', "task: Input should be a valid string"),
    ],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, content: bytes, rule: str) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(ExportError, match=rf"manifest\.json: not a manifest of this package: {rule}"):
        read_manifest(tmp_path)


def test_a_newer_format_is_refused_with_both_numbers(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest(format=MANIFEST_FORMAT + 1))
    with pytest.raises(
        ExportError, match="written in format 2 by a newer version; this one reads up to format 1"
    ):
        read_manifest(tmp_path)
