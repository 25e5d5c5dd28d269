"""Trainings that begin from a run: its weights and its side, and all else anew; adapters, frozen weights."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trainings import Crash, after_update, crash, demand_equal, events, metrics, start
from typer.testing import CliRunner

from tf_transformer.build import load_run, problem_of
from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.cli import main
from tf_transformer.cli.app import app
from tf_transformer.recipe import load_recipe
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Preprocessor

SHORT = (
    "model.hidden_dim=16",
    "model.intermediate_dim=24",
    "model.num_heads=2",
    "model.dropout=0.2",
    "training.schedule={name: constant, peak: 0.01, warmup_steps: 1}",
    "training.validate_every=3",
    "training.steps=6",
    "decoding.beam=1",
)
ADAPTED = (
    "training.lora={rank: 2, also: [decoder/*_bias]}",
    "training.rates={decoder: 0.5}",
    "training.ema=0.9",
    "training.precision=mixed_bfloat16",
)


@pytest.fixture(scope="module")
def base(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few updates."""
    run = tmp_path_factory.mktemp("base") / "run"
    assert start(reversal, run, *SHORT) == 0
    return run


@pytest.fixture(scope="module")
def adapted(base: Path, reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that went on from it through adapters."""
    run = tmp_path_factory.mktemp("adapted") / "run"
    assert start(reversal, run, f"training.initialize_from={base}", *SHORT, *ADAPTED) == 0
    return run


def weights_of(run: Path, name: str) -> Any:
    return CheckpointStore(run / "checkpoints").read(name).weights


def test_a_training_begins_where_a_run_stands(base: Path, reversal: Path, tmp_path: Path) -> None:
    run, best = tmp_path / "run", CheckpointStore(base / "checkpoints").resolve("best")
    keys = (f"training.initialize_from={base}", "training.freeze=[encoder, '*/table']")
    assert start(reversal, run, *SHORT, *keys, "training.steps=3") == 0
    before = CheckpointStore(base / "checkpoints").read(best)
    after = weights_of(run, "step-00000003")
    still = {path for path, array in after.items() if np.array_equal(array, before.weights[path])}
    assert still == {path for path in after if "/encoder/" in path or path.endswith("/table")}
    was = {row["step"]: row["val_loss"] for row in metrics(base)}[before.state["step"]]
    assert metrics(run)[0]["val_loss"] < was  # fresh weights would begin far above
    (event,) = [event for event in events(run) if event["event"] == "begun from a run"]
    assert event["detail"] == str(before.folder)
    sides = [path / "tokenizer" / "shared" / "tokenizer.json" for path in (run, base)]
    assert sides[0].read_bytes() == sides[1].read_bytes()
    files = {file.path: file.sha256 for file in RunFolder.open(run).recipe().files}
    state = json.loads((before.folder / "state.json").read_text())
    assert files[str(before.folder / "weights.npz")] == state["sha256"]["weights.npz"]


def test_adapters_change_their_targets_by_their_rank(base: Path, adapted: Path) -> None:
    before = weights_of(base, CheckpointStore(base / "checkpoints").resolve("best"))
    store = CheckpointStore(adapted / "checkpoints")
    last = store.read("step-00000006")
    raw = {path.removeprefix("raw/"): array for path, array in last.training.items() if "raw/" in path}
    for path, array in raw.items():
        if path.endswith("_kernel"):
            assert np.linalg.matrix_rank(array - before[path], 1e-5) == 2, path
        else:
            is_also = "/decoder/" in path and path.endswith("_bias")
            assert np.array_equal(array, before[path]) != is_also, path


def test_what_adapters_have_learnt_is_kept_apart_and_answers_alike(
    adapted: Path, tmp_path: Path, reversal_pairs: list[tuple[str, str]]
) -> None:
    apart = tmp_path / "apart"
    result = CliRunner().invoke(app, ["adapter", str(adapted), str(apart)])
    assert result.exit_code == 0 and "bytes in place of" in result.output
    whole, small = load_run(adapted).task, load_run(apart).task
    for one, other in zip(whole.model.weights, small.model.weights, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)
    texts = [source for source, _ in reversal_pairs[:5]]
    assert small.translate(texts) == whole.translate(texts)
    again = CliRunner().invoke(app, ["adapter", str(adapted), str(apart)])
    assert again.exit_code == 2
    other = CliRunner().invoke(app, ["adapter", str(apart.parent / "none"), str(tmp_path / "other")])
    assert "there is no such run folder" in str(other.exception)


def test_a_mix_by_weight_is_the_same_from_text_and_prepared(
    base: Path, reversal: Path, tmp_path: Path
) -> None:
    """Whatever it is read from, the ids are of the run's pieces, and the new corpus comes twice an epoch."""
    (tmp_path / "new.tsv").write_text("source\ttarget\n" + "1 2 x\ty 2 1\n3 4\t4 3\n" * 150)
    mix = (
        f"data.train=[{{table: {reversal.parent}/train.tsv}}, {{table: {tmp_path}/new.tsv, weight: 2}}]",
        f"training.initialize_from={base}",
        *SHORT,
    )
    words = ("prepare", str(reversal), *mix, "--output", str(tmp_path / "ready"), "--workers", "1", "--quiet")
    assert main(words) == 0
    counts, pieces = [], Preprocessor.load(base / "tokenizer").source_tokens
    for more in ((), (f"data.prepared={tmp_path / 'ready'}",)):
        problem = problem_of(load_recipe(reversal, [*mix, *more]))
        examples = problem.read()
        side = problem.make_side(examples)
        assert side.source_tokens == pieces
        encoded = problem.encode(examples, side)
        rows = np.concatenate([batch.rows for batch in problem.plan(examples, encoded, side).epoch(0)])
        counts.append(np.bincount(np.bincount(rows)).tolist())
    assert counts == [[0, 4600, 300]] * 2  # 300 rows twice


@pytest.mark.slow
def test_adapters_go_on_exactly_and_never_begin_again(
    base: Path, adapted: Path, reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = (f"training.initialize_from={base}", *SHORT, *ADAPTED)
    after_update(monkeypatch, 4, crash)
    with pytest.raises(Crash):
        start(reversal, tmp_path / "cut", *keys)
    assert start(reversal, tmp_path / "cut", *keys) == 0
    demand_equal(adapted, tmp_path / "cut", "step-00000006")
