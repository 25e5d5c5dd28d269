"""A run continues exactly, says when it is complete, and weighs what has changed."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import trainings
from trainings import Crash, after_update, crash, demand_equal, events, metrics

from tf_transformer.build import load_run
from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.errors import DataError, RunError, TextError

SMALL = (
    "model.num_layers=1",
    "model.hidden_dim=16",
    "model.intermediate_dim=32",
    "model.num_heads=2",
    "model.dropout=0.3",
    "training.batch_tokens=3000",  # nine updates an epoch
    "training.steps=22",
    "training.validate_every=10",
    "training.checkpoint_every=4",
    "decoding.beam=2",
)


def start(recipe: Path, run: Path, *overrides: str, **options: Any) -> int:
    """Trains a small model in this process."""
    return trainings.start(recipe, run, *SMALL, *overrides, **options)


@pytest.fixture(scope="module")
def undisturbed(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run that nothing stopped."""
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    assert start(reversal, run) == 0
    return run


def test_a_run_that_died_twice_and_was_interrupted_ends_bit_equal(
    reversal: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    for step in (3, 13):  # before the first checkpoint, and between two, in the second epoch
        after_update(monkeypatch, step, crash)
        with pytest.raises(Crash):
            start(reversal, run)
    after_update(monkeypatch, 18, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert start(reversal, run) == 128 + signal.SIGTERM
    assert CheckpointStore(run / "checkpoints").index().last == 19  # it was in the 19th
    assert start(reversal, run) == 0

    demand_equal(run, undisturbed, "step-00000022")
    training = CheckpointStore(run / "checkpoints").read("step-00000022").training
    assert any("seed_generator_state" in name for name in training)


def test_metrics_have_what_scripts_read(undisturbed: Path) -> None:
    rows = metrics(undisturbed)
    assert [row["step"] for row in rows] == [10, 20, 22]
    assert {"loss", "val_loss", "val_perplexity", "val_accuracy", "val_bleu", "learning_rate"} <= set(rows[0])
    # inverse_sqrt up to update 60: the rate of update 10 is a sixth of the peak.
    assert rows[0]["learning_rate"] == pytest.approx(0.005 * 10 / 60)
    results = json.loads((undisturbed / "results.json").read_text())
    assert {"test_bleu", "val_bleu"} <= set(results["metrics"])
    assert {"seed", "commit", "versions", "machine", "seconds", "recipe_sha256", "data_sha256"} <= set(
        results
    )
    assert "tok:13a" in results["signatures"]["test_bleu"]


def test_validation_bleu_is_sacrebleus_on_the_text(undisturbed: Path) -> None:
    loaded = load_run(undisturbed, "22")
    path = loaded.recipe.data.dev_sets["dev"].table
    dev = [line.split("\t") for line in path.read_text().split("\n")[1:-1]]
    answers = loaded.task.translate([source for source, _ in dev], beam_size=1)
    expected = sacrebleu.corpus_bleu(answers, [[target for _, target in dev]]).score
    assert metrics(undisturbed)[-1]["val_bleu"] == pytest.approx(expected)
    assert len(dev) == 101


def test_a_complete_run_is_left_alone_and_goes_on_when_given_more(
    reversal: Path, undisturbed: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(undisturbed, tmp_path / "run")
    before = metrics(run)
    scored = (run / "results.json").stat().st_mtime_ns
    assert start(reversal, run) == 0
    assert metrics(run) == before
    assert (run / "results.json").stat().st_mtime_ns == scored
    store = CheckpointStore(run / "checkpoints")
    average = store.average([10, 22])
    store.write("average", average)  # an average has no optimizer, and is nothing to go on from
    assert start(reversal, run, "training.steps=24", "model.dropout=0.2") == 0
    assert [row["step"] for row in metrics(run)] == [10, 20, 22, 24]
    assert all(np.array_equal(average[name], array) for name, array in store.read("average").weights.items())
    changed = [event["detail"] for event in events(run) if event["event"] == "recipe changed"]
    assert changed == ["model.dropout: 0.3 in the run, 0.2 now"]


def test_a_damaged_checkpoint_is_passed_over(reversal: Path, undisturbed: Path, tmp_path: Path) -> None:
    run = shutil.copytree(undisturbed, tmp_path / "run")
    last = run / "checkpoints" / "step-00000022" / "weights.npz"
    last.write_bytes(last.read_bytes()[:-100])
    assert start(reversal, run) == 0
    assert metrics(run) == metrics(undisturbed)
    assert "step-00000022: damaged checkpoint" in (run / "events.jsonl").read_text()


def test_what_cannot_change_midway_is_refused_with_both_values(reversal: Path, undisturbed: Path) -> None:
    with pytest.raises(RunError, match=r"model.num_heads: 2 in the run, 4 now.*--fresh"):
        start(reversal, undisturbed, "model.num_heads=4")


def test_a_run_without_a_checkpoint_is_bound_to_nothing(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_update(monkeypatch, 1, crash)
    with pytest.raises(Crash):
        start(reversal, tmp_path / "run", "text.tokenizer=characters")
    after_update(monkeypatch, 1, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert start(reversal, tmp_path / "run", "model.hidden_dim=32") == 128 + signal.SIGINT
    assert load_run(tmp_path / "run", "last").task.model.settings.hidden_dim == 32


def test_a_tokenizer_of_another_size_is_refused_with_both_sizes(
    reversal: Path, undisturbed: Path, tmp_path: Path
) -> None:
    from tf_transformer.text import Preprocessor

    run = shutil.copytree(undisturbed, tmp_path / "run")
    shutil.rmtree(run / "tokenizer")
    Preprocessor.train(["1 2 3 4 5 6 7 8 9 0 one_more"], ["1"], tokenizer="words").save(run / "tokenizer")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    rule = r"tokenizer/shared: the vocabulary has 17 pieces, and .*/weights\.npz was trained with 14"
    with pytest.raises(RunError, match=rule):
        load_run(run)
    with pytest.raises(RunError, match=rule):
        start(reversal, run, "training.steps=24", "model.dropout=0.2")
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_a_corpus_without_a_usable_pair_stops_before_training(tmp_path: Path, reversal: Path) -> None:
    for name in ("dev.tsv", "test.tsv", "recipe.yaml"):
        shutil.copy(reversal.parent / name, tmp_path)
    (tmp_path / "train.tsv").write_text("source\ttarget\n \u200b\t1 2\n")
    with pytest.raises(DataError, match=r"train\.tsv: (no pairs are left|1 bad row)"):
        start(tmp_path / "recipe.yaml", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_lost_tokenizer_is_not_made_up(reversal: Path, undisturbed: Path, tmp_path: Path) -> None:
    run = shutil.copytree(undisturbed, tmp_path / "run")
    shutil.rmtree(run / "tokenizer")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(TextError, match=r"preprocessor\.json"):
        start(reversal, run, "training.steps=24", "model.dropout=0.2")
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_lost_checkpoints_are_not_trained_again_into_old_records(
    reversal: Path, undisturbed: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(undisturbed, tmp_path / "run")
    shutil.rmtree(run / "checkpoints")
    before = (run / "metrics.jsonl").read_bytes()
    with pytest.raises(RunError, match=r"run/checkpoints: the checkpoints of this run are gone, .*--fresh"):
        start(reversal, run)
    (run / "checkpoints").mkdir()
    with pytest.raises(RunError, match="the checkpoints of this run are gone"):
        start(reversal, run)
    (run / "results.json").unlink()
    with pytest.raises(RunError, match="the checkpoints of this run are gone"):
        start(reversal, run)
    assert (run / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("damage", ["{", "lost best"])
def test_a_broken_index_is_made_anew_at_the_start(
    reversal: Path, undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    run = shutil.copytree(undisturbed, tmp_path / "run")
    index = run / "checkpoints" / "index.json"
    whole = json.loads(index.read_text())
    if damage == "{":
        index.write_text("{")
        expected = whole
    else:
        shutil.rmtree(run / "checkpoints" / f"step-{whole['best']:08d}")
        kept = [step for step in whole["kept"] if step != whole["best"]]
        expected = {**whole, "last": max(kept), "kept": kept}
        del expected["best"]
    assert load_run(run, "last").step == expected["last"] if damage == "{" else True
    assert start(reversal, run, quiet=False) == 0
    assert "broken index of checkpoints: " in capsys.readouterr().err
    assert '"event": "broken index"' in (run / "events.jsonl").read_text()
    found = json.loads(index.read_text())
    assert {name: found[name] for name in expected} == expected
