"""Nothing that trains knows which task it is: a made-up one goes through all of it."""

import json
from pathlib import Path

import made_up
import pytest
from made_up import QuarterProblem
from trainings import Crash, after_update, crash, demand_equal, metrics, start

from tf_transformer.build import load_run, problem_of
from tf_transformer.build.problems import PROBLEMS
from tf_transformer.cli.answering import FACES
from tf_transformer.cli.task_options import TASKS
from tf_transformer.errors import RunError
from tf_transformer.recipe import RECIPES, load_recipe


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up.register(monkeypatch)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained run of the made-up task."""
    folder = tmp_path_factory.mktemp("quarters")
    with pytest.MonkeyPatch.context() as patch:
        made_up.register(patch)
        assert start(made_up.write(folder), folder / "run") == 0
    return folder / "run"


def test_it_is_trained_validated_and_scored(run: Path) -> None:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert [row["step"] for row in rows] == [20, 40]
    assert list(rows[0]) == [
        "step", "epoch", "loss", "learning_rate", "gradient_norm", "skipped_updates", "examples_per_second",
        "seconds", "val_loss", "val_accuracy",
    ]  # fmt: skip
    assert rows[0]["epoch"] == 5  # a hundred points are four updates of 25
    results = json.loads((run / "results.json").read_text())
    assert results["metrics"]["test_accuracy"] == 1.0 and results["signatures"] == {}
    assert (run / "samples" / "step-00000040.txt").read_text().startswith("source     ")
    assert load_run(run).task.side.scale == pytest.approx(9.0, abs=0.2)


def test_it_continues_bit_by_bit(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after_update(monkeypatch, 33, crash)
    with pytest.raises(Crash):
        start(run.parent / "recipe.yaml", tmp_path / "run")
    assert start(run.parent / "recipe.yaml", tmp_path / "run") == 0
    assert metrics(run) == metrics(tmp_path / "run")
    demand_equal(run, tmp_path / "run", "step-00000040", "average")


def test_what_is_shown_is_in_its_own_words(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(run.parent / "recipe.yaml", tmp_path / "run", "training.steps=20", quiet=False) == 0
    shown = capsys.readouterr().err
    assert "100 points · 4 updates an epoch\n" in shown and "12 parameters" in shown
    assert "   update    loss accuracy points/s    time\n" in shown
    assert "dev, step-00000020: accuracy " in shown and "test, step-00000020: accuracy " in shown
    assert "  find        echo " in shown and " | tf-transformer predict " in shown


def test_a_run_of_another_task_is_not_continued(run: Path, reversal: Path) -> None:
    with pytest.raises(RunError, match=r"cannot change midway in task: find_quarter in the run, translate n"):
        start(reversal, run)


def test_the_size_of_an_update_is_its_own_key(run: Path) -> None:
    problem = problem_of(load_recipe(run.parent / "recipe.yaml"))
    assert isinstance(problem, QuarterProblem) and problem.update_size == 30
    encoded = problem.encode(problem.read(), problem.load_side(run / "tokenizer"))
    assert problem.epoch_size(encoded, [2.5]) == 250
    batches = problem.batches(encoded, [1.0], 30).epoch(0)
    assert len(batches) == 4 and problem.most_expensive(batches, None) == 0
    assert problem.measure.name == "val_accuracy" and problem.measure.higher_is_better
    loss = problem_of(load_recipe(run.parent / "recipe.yaml", ["training.early_stopping={metric: loss}"]))
    assert loss.measure.name == "val_loss" and not loss.measure.higher_is_better


def test_every_task_is_in_every_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    # As sets: tests that put another task in the place of one change the order.
    assert set(RECIPES) == set(PROBLEMS) == set(FACES) == set(TASKS)
