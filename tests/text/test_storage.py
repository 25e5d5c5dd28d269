"""Folders that are whole or not there, and manifests that are checked."""

import os
from pathlib import Path

import pytest

from tf_transformer.errors import TextError
from tf_transformer.text import storage


def test_a_folder_replaces_the_old_one_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tokenizer"
    storage.write_folder(folder, {"a.txt": b"1", "sub/b.txt": b"2", "tokenizer.json": b""})
    storage.write_folder(folder, {"c.txt": b"3", "tokenizer.json": b""})
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*.txt"))] == [
        "new/tokenizer/c.txt"
    ]
    assert os.listdir(folder.parent) == ["tokenizer"]


def test_a_failed_write_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tokenizer"
    storage.write_folder(folder, {"a.txt": b"1"})

    def full(path: Path, content: bytes) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(storage, "write_bytes", full)
    with pytest.raises(TextError, match=r"tokenizer: cannot write the tokenizer\. Received: No space left"):
        storage.write_folder(folder, {"a.txt": b"2"})
    assert (folder / "a.txt").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["tokenizer"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\x00", r"must be JSON in UTF-8\. Received: 'utf-8' codec"),
        (b"{", r"must be JSON in UTF-8\. Received: Expecting"),
        (b"[1]", r"must hold a JSON object\. Received: list"),
        (b"{}", r"format must be 1\. Received: None"),
    ],
)
def test_a_manifest_that_is_none(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(TextError, match=rf"tokenizer\.json: {message}"):
        storage.read_manifest(path)


def test_fields_have_types() -> None:
    path = Path("tokenizer.json")
    assert storage.field({"size": 3}, path, "size", int) == 3
    with pytest.raises(TextError, match=r"tokenizer\.json: `size` must be of type int\. Received: True"):
        storage.field({"size": True}, path, "size", int)
    with pytest.raises(TextError, match=r"`kind` must be of type str\. Received: None"):
        storage.field({}, path, "kind", str)
