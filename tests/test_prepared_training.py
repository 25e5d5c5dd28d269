"""Training from prepared data: the same bits as from text, and exact wherever it is taken up again."""

from pathlib import Path

import pytest
from trainings import Crash, after_update, crash, demand_equal, start

from tf_transformer.cli import main
from tf_transformer.data.prepared import PreparedCorpus
from tf_transformer.errors import RunError

SMALL = (
    "model.hidden_dim=16",
    "model.intermediate_dim=32",
    "model.num_heads=2",
    "model.dropout=0.1",
    "training.batch_tokens=3000",
    "training.steps=10",
    "training.validate_every=10",
    "training.checkpoint_every=3",
    "decoding.beam=1",
)
"""A pass over the data has about 8 updates."""
END = "step-00000010"


def prepare(recipe: Path, folder: Path, shards: int) -> str:
    """Prepares the recipe's data; an override that trains from there."""
    options = ("--shards", str(shards), "--workers", "1", "--quiet")
    assert main(["prepare", str(recipe), "--output", str(folder), *options]) == 0
    return f"data.prepared={folder}"


@pytest.fixture(scope="module")
def ready(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return prepare(reversal, tmp_path_factory.mktemp("prepared") / "ready", 3)


def test_a_corpus_that_fits_trains_as_from_text(reversal: Path, ready: str, tmp_path: Path) -> None:
    assert start(reversal, tmp_path / "text", *SMALL) == 0
    assert start(reversal, tmp_path / "prepared", *SMALL, ready) == 0
    demand_equal(tmp_path / "text", tmp_path / "prepared", END)


def test_pools_go_on_exactly_and_other_data_is_refused(
    reversal: Path, ready: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(ready.removeprefix("data.prepared="))
    assert PreparedCorpus.open(folder / "index.json").rows_in(1 << 20) < 4600 / 1.5  # several pools
    pooled = (*SMALL, ready, "data.shuffle_memory=1")
    assert start(reversal, tmp_path / "whole", *pooled) == 0
    after_update(monkeypatch, 8, crash)
    with pytest.raises(Crash):
        start(reversal, tmp_path / "stopped", *pooled)
    other = prepare(reversal, tmp_path / "other", 2)
    with pytest.raises(RunError, match=r"training text has changed .*: data.prepared: content"):
        start(reversal, tmp_path / "stopped", *pooled, other)
    assert start(reversal, tmp_path / "stopped", *pooled) == 0
    demand_equal(tmp_path / "whole", tmp_path / "stopped", END)
