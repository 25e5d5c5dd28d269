"""The verb ``serve``: refusals in one line, and a process from its start to its end."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.cli import main, serving
from tf_transformer.manifest import Manifest, write_manifest


@pytest.fixture(scope="module")
def shouting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export that says all in capitals."""
    import tensorflow as tf

    class Shouting(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def serving_default(self, text: Any) -> Any:
            return {"text": tf.strings.upper(text)}

    folder, module = tmp_path_factory.mktemp("serve") / "shouting", Shouting()
    signatures = {"serving_default": module.serving_default}
    tf.saved_model.save(module, str(folder / "1"), signatures=signatures)
    write_manifest(folder / "1", Manifest(task="translate", signatures=tuple(signatures), verification={}))
    return folder


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--name", "a/b"], 2, "must be a name without / and :. Received: a/b"),
        (["--port", "70000"], 2, "must be from 0 to 65535. Received: 70000"),
        (["--timeout", "0"], 2, "must be from 0.001 to 86400"),
        ([], 1, "nowhere: no exported model is here"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    ports = ["--port", "0", "--grpc-port", "0"]
    assert main(["serve", str(tmp_path / "nowhere"), *ports, *words]) == code
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and message in shown.err


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda name: None if name in ("grpc", "uvicorn") else name)
    assert main(["serve", "x"]) == 1
    assert capsys.readouterr().err == "serve needs grpc, uvicorn: pip install 'tf-transformer[serve]'\n"


@pytest.mark.parametrize(
    ("path", "name"), [("exports/toy", "toy"), ("exports/toy/3", "toy"), ("/", "model"), ("a:b", "a_b")]
)
def test_the_name_is_that_of_the_folder(path: str, name: str) -> None:
    assert serving.name_of(Path(path)) == name


def test_a_fault_is_a_line_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        found = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "POST %s", ("/",), found)
    assert serving._Lines(False).format(record) == "POST / (ValueError: two lines)"
    assert "Traceback" in serving._Lines(True).format(record)


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which ends with the block."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tf_transformer", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # What a library that tests import has set there for itself is no wish of a user.
        env={name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"},
    )
    with started:
        try:
            yield started
        finally:
            started.kill()


def test_a_process_serves_until_it_is_told_to_stop(shouting: Path) -> None:
    with process("serve", str(shouting), "--port", "0", "--grpc-port", "0") as server:
        assert server.stderr is not None
        lines = [server.stderr.readline() for _ in range(3)]
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/v1/models/shouting)\n", lines[1])
        assert found, lines  # and none of TensorFlow's own
        body = json.dumps({"instances": ["ab"]}).encode()
        with urllib.request.urlopen(f"{found[1]}:predict", body, timeout=30) as response:
            assert json.loads(response.read()) == {"predictions": ["AB"]}
        server.send_signal(signal.SIGTERM)
        out, rest = server.communicate(timeout=60)
    assert (server.returncode, out, rest) == (0, "", "stopping: what was begun is ended\nstopped\n")
