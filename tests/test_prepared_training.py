"""Training from prepared data: the same losses as from text, and exact wherever it is taken up again."""

from pathlib import Path

import pytest
from trainings import Crash, after_update, crash, demand_equal, events, start

from tf_transformer.cli import main
from tf_transformer.errors import RunError
from tf_transformer.run_folder import RunFolder

SMALL = (
    "model.hidden_dim=16",
    "model.intermediate_dim=32",
    "model.num_heads=2",
    "model.dropout=0.1",
    "training.steps=24",
    "training.validate_every=12",
    "training.checkpoint_every=5",
    "decoding.beam=1",
)
"""A pass over the data has about 20 updates."""


@pytest.fixture(scope="module")
def ready(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("prepared") / "ready"
    command = [
        "prepare",
        str(reversal),
        "--output",
        str(folder),
        "--shards",
        "3",
        "--workers",
        "1",
        "--quiet",
    ]
    assert main(command) == 0
    return f"data.prepared={folder}"


def test_a_corpus_that_fits_trains_as_from_text(reversal: Path, ready: str, tmp_path: Path) -> None:
    assert start(reversal, tmp_path / "text", *SMALL) == 0
    assert start(reversal, tmp_path / "prepared", *SMALL, ready) == 0
    demand_equal(tmp_path / "text", tmp_path / "prepared", "last")


def test_pools_go_on_exactly_where_training_was_stopped(
    reversal: Path, ready: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pooled = (*SMALL, ready, "data.shuffle_memory=1")
    assert start(reversal, tmp_path / "whole", *pooled) == 0
    for step in (3, 13, 21):
        after_update(monkeypatch, step, crash)
        with pytest.raises(Crash):
            start(reversal, tmp_path / "stopped", *pooled)
    assert start(reversal, tmp_path / "stopped", *pooled) == 0
    demand_equal(tmp_path / "whole", tmp_path / "stopped", "last")
    # Several pools: other batches than those of the whole corpus at once.
    assert RunFolder(tmp_path / "whole").metrics() != []


def test_data_that_was_prepared_anew_is_not_taken_silently(
    reversal: Path, ready: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    after_update(monkeypatch, 6, crash)
    with pytest.raises(Crash):
        start(reversal, run, *SMALL, ready)
    folder = tmp_path / "other"
    assert main(["prepare", str(reversal), "--output", str(folder), "--workers", "1", "--quiet"]) == 0
    with pytest.raises(
        RunError, match=r"training text has changed .*: data.prepared: content"
    ):
        start(reversal, run, *SMALL, f"data.prepared={folder}")
    assert start(reversal, run, *SMALL, f"data.prepared={folder}", reset=["data"]) == 0
    assert any("data.prepared" in event["detail"] for event in events(run))
