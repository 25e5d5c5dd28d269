"""Whole files and fingerprints."""

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from tf_transformer import files


def test_text_keeps_its_line_ends_and_letters(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    files.write_text(path, "a\r\nü\n")
    assert path.read_bytes() == b"a\r\n\xc3\xbc\n"


def test_json_is_readable_and_ends_with_a_line_end(tmp_path: Path) -> None:
    files.write_json(tmp_path / "a.json", {"ü": [1, None]})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text == '{\n  "ü": [\n    1,\n    null\n  ]\n}\n'


def test_numbers_that_json_lacks_are_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, 1)
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(path, float("nan"))
    assert json.loads(path.read_text()) == 1


def test_a_failure_midway_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    with pytest.raises(OSError, match="disk full"), files.replacing(path) as file:
        file.write(b"half")
        raise OSError("disk full")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_failing_rename_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    files.write_text(path, "old")

    def refuse(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="no room"):
        files.write_text(path, "new")
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_permissions_are_those_of_the_umask_or_of_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    mask = os.umask(0o027)
    try:
        files.write_text(path, "1")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    files.write_text(path, "2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("size", [0, 1, (1 << 20) + 7])
def test_fingerprint_is_size_and_sha256_of_the_content(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    path = tmp_path / "data"
    path.write_bytes(content[:size])
    expected = files.Fingerprint(size, hashlib.sha256(content[:size]).hexdigest())
    assert files.fingerprint(path) == expected
    assert files.sha256_of(path) == expected.sha256


def test_sync_folder_names_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        files.sync_folder(tmp_path / "nowhere")


def test_a_link_stays_a_link_and_a_pipe_is_written_into(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    files.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert not (tmp_path / "pipe").is_file()


def test_a_folder_is_its_files_and_their_names(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "a.png").write_bytes(b"abc")
    (tmp_path / "b.png").write_bytes(b"de")
    found = files.folder_fingerprint(tmp_path)
    assert found.size == 5 and files.files_below(tmp_path) == [tmp_path / "b.png", tmp_path / "cat" / "a.png"]
    (tmp_path / ".DS_Store").write_bytes(b"x")
    assert files.folder_fingerprint(tmp_path) == found
    (tmp_path / "b.png").write_bytes(b"df")
    changed = files.folder_fingerprint(tmp_path)
    assert changed.sha256 != found.sha256 and changed.size == 5
    (tmp_path / "b.png").write_bytes(b"de")
    (tmp_path / "b.png").rename(tmp_path / "c.png")
    assert files.folder_fingerprint(tmp_path).sha256 not in (found.sha256, changed.sha256)


def test_a_file_below_a_folder_must_have_a_name_in_utf8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.png")).write_bytes(b"")
    with pytest.raises(OSError, match="must have a path in UTF-8"):
        files.files_below(tmp_path)
