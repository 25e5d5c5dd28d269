"""Options of one task given to another are refused by name, before anything is loaded."""

from dataclasses import replace
from pathlib import Path

import pytest

from tf_transformer.cli import main
from tf_transformer.cli.task_options import TASKS, TaskOptions
from tf_transformer.manifest import Manifest, write_manifest


@pytest.fixture
def singer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second task, which has taken some options from the first."""
    known = TASKS["translate"]
    without = replace(known, predict=known.predict - {"--beam"}, evaluate=known.evaluate - {"--tokenize"})
    monkeypatch.setitem(TASKS, "translate", without)
    monkeypatch.setitem(
        TASKS, "sing", TaskOptions("a singer", frozenset({"--beam"}), frozenset({"--tokenize"}), ())
    )


@pytest.mark.parametrize(
    ("words", "option"),
    [(["predict", "--beam", "2"], "--beam"), (["evaluate", "--tokenize", "zh"], "--tokenize")],
)
def test_an_option_of_another_task(
    run: Path, singer: None, words: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([words[0], str(run), *words[1:]]) == 2
    assert f"Invalid value for {option}: is for sing, and {run} is a translator" in capsys.readouterr().err


def test_an_export_of_a_task_of_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "saved_model.pb").touch()
    write_manifest(tmp_path, Manifest(task="sing", signatures=("serving_default",), verification={}))
    assert main(["predict", str(tmp_path)]) == 1
    assert f"{tmp_path}: is for the task sing, which this version does not know" in capsys.readouterr().err
