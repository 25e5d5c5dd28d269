"""What is written to descriptor 2 during an import."""

import os

import pytest

from tf_transformer.cli.quiet_import import quiet_import


def test_it_is_kept_off_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet_import():
        os.write(2, b"oneDNN custom operations are on\n")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_it_is_shown_when_the_import_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ImportError, match="no such library"), quiet_import():
        os.write(2, b"libcuda.so: version mismatch\n")
        raise ImportError("no such library")
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "libcuda.so: version mismatch\nafter\n"


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with quiet_import():
            pass
    assert len(os.listdir("/dev/fd")) == before
