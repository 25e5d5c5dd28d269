"""A folder with a sound recipe and its data."""

from pathlib import Path

import pytest

SOUND = """\
task: translate
data:
  train: {source: train.en, target: train.de}
  dev: {table: dev.tsv}
training:
  steps: 700
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with data files and ``recipe.yaml``."""
    monkeypatch.chdir(tmp_path)
    for name in ("train.en", "train.de", "dev.en", "dev.de", "dev2.de", "dev.tsv", "dev2.tsv"):
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / "preset").mkdir()
    (tmp_path / "preset" / "model.weights.h5").touch()
    (tmp_path / "recipe.yaml").write_text(SOUND)
    return tmp_path
