"""``train --seeds``: one run a seed, those that fail or stop, and mean and deviation."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer import BadParameter

from tf_transformer.cli import main, seeds
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.run_folder import RunFolder
from tf_transformer.run_folder.seeds import SeedsFolder, together

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines of the trainings that were begun; each leaves a run with its seed as BLEU."""
    begun: list[list[str]] = []

    def run_train(words: list[str]) -> int:
        begun.append(list(words))
        seed = next(int(word.removeprefix("training.seed=")) for word in words if "training.seed" in word)
        if seed > 5:
            return seed
        run = RunFolder(Path(words[words.index("--run") + 1]))
        found = load_recipe(Path(words[0]), [f"training.seed={seed}"])
        run.create(with_files(found, Path(words[0]).absolute().parent))
        run.append_metrics({"step": 9, "seconds": 60.0, "val_bleu": 10.0 + seed})
        metrics = {"val_bleu": 10.0 + seed, "val_loss": 0.5, "test_bleu": 20.0 + seed}
        if seed == 2:
            metrics["only_here"] = 1.0
        run.write_results({"step": 9, "seconds": 60.0, "seed": seed, "metrics": metrics})
        return 0

    monkeypatch.setattr(seeds, "run_train", run_train)
    return begun


def test_which_seeds() -> None:
    assert seeds.seeds_of(None) is None
    assert seeds.seeds_of("3") == [1, 2, 3]
    assert seeds.seeds_of("3,5, 8") == [3, 5, 8]
    assert seeds.seeds_of("7,") == [7] and seeds.seeds_of("0,2147483647") == [0, 2147483647]


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1.5", "many", "1001", "3,3", "1,,2", ",", "1,2147483648", "²"]
)
def test_what_names_no_seeds_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="must be how many, at most 1000, or a list such as 3,5,8"):
        seeds.seeds_of(text)


def test_mean_and_deviation(recipe: Path, trained: list[list[str]], capsys: Captured) -> None:
    arguments = ["train", "recipe.yaml", "model.dropout=0.2", "--seeds", "3", "--reset", "data", "--record"]
    assert main(arguments) == 0
    folder = next(Path("runs").iterdir())
    assert folder.name.endswith("dropout=0.2-seeds")
    assert trained == [
        [
            *("recipe.yaml", "model.dropout=0.2", "--reset=data", "--wait=300"),
            *(f"training.seed={seed}", "--run", f"{folder}/seed-{seed}"),
        ]
        for seed in (1, 2, 3)
    ]
    printed, told = capsys.readouterr()
    assert printed.split("\n") == [
        "figure      mean  deviation  seed 1  seed 2  seed 3",
        "dev BLEU   12.00       1.00   11.00   12.00   13.00",
        "dev loss   0.500      0.000   0.500   0.500   0.500",
        "test BLEU  22.00       1.00   21.00   22.00   23.00",
        "3 seeds: 1, 2, 3",
        "results/recipe-seeds.json",
        "",
    ]
    assert told.split("\n") == ["", "seed 1 (1 of 3)", "", "seed 2 (2 of 3)", "", "seed 3 (3 of 3)", ""]
    found = json.loads((folder / "seeds.json").read_text())
    assert found["metrics"]["test_bleu"] == {"mean": 22.0, "deviation": 1.0, "values": [21.0, 22.0, 23.0]}
    assert [run["seed"] for run in found["runs"]] == found["seeds"] == [1, 2, 3]
    assert json.loads(Path("results/recipe-seeds.json").read_text()) == found
    assert main(["runs"]) == 0
    last = capsys.readouterr().out.split("\n")[-2]
    words = " ".join(last.split())
    assert words == (
        f"{folder}: mean translate 3 seeds 3 of 3 finished BLEU 12.00 ± 1.00 BLEU 22.00 ± 1.00 3:00"
    )


def test_one_seed_has_no_deviation() -> None:
    found = together({4: {"metrics": {"test_bleu": 3.0, "test_ter": None}, "step": 7, "commit": "c"}})
    assert found == {
        "seeds": [4],
        "metrics": {"test_bleu": {"mean": 3.0, "deviation": None, "values": [3.0]}},
        "runs": [{"seed": 4, "step": 7}],
        "commit": "c",
    }
    assert list(seeds.seeds_table(found))[1].split() == ["test", "BLEU", "3.00", "-", "3.00"]


def test_a_seed_that_fails_keeps_no_other_from_its_turn(
    recipe: Path, trained: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    stub = seeds.run_train
    monkeypatch.setattr(seeds, "run_train", lambda words: 1 if "training.seed=4" in words else stub(words))
    assert main(["train", "recipe.yaml", "--seeds", "4,5", "--run", "many", "--record"]) == 1
    printed, told = capsys.readouterr()
    assert "1 seed: 5\n" in printed and not Path("results").exists()
    assert "seed 4 has failed: many/seed-4\n" in told and "many: not complete yet: seed 4\n" in told


@pytest.mark.parametrize("code", [2, 130, 143])
def test_an_interruption_and_a_wrong_command_end_it(
    recipe: Path, trained: list[list[str]], monkeypatch: pytest.MonkeyPatch, code: int, capsys: Captured
) -> None:
    stub = seeds.run_train
    monkeypatch.setattr(seeds, "run_train", lambda words: code if "training.seed=7" in words else stub(words))
    assert main(["train", "recipe.yaml", "--seeds", "1,7,3"]) == code
    printed, told = capsys.readouterr()
    assert len(trained) == 1 and "1 seed: 1\n" in printed
    assert "not complete yet: seed 7, 3\n" in told and "has failed" not in told


def test_what_cannot_be_is_refused(recipe: Path, trained: list[list[str]], capsys: Captured) -> None:
    assert main(["train", "recipe.yaml", "training.seed=2", "--seeds", "2"]) == 2
    assert "--seeds: says the seeds: leave out training.seed" in capsys.readouterr().err
    RunFolder(Path("run")).create(load_recipe(recipe))
    assert main(["train", "recipe.yaml", "--run", "run", "--seeds", "2"]) == 2
    assert "run: is a run; name another folder for runs of several seeds" in capsys.readouterr().err
    assert not trained


def test_signals_are_left_to_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Child:
        def __init__(self, words: list[str]) -> None:
            asked.append(words[1:])

        def terminate(self) -> None:
            asked.append("terminate")

        def wait(self) -> int:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            return -int(signal.SIGKILL)

    before: list[Callable[..., Any] | Any] = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr(seeds.subprocess, "Popen", Child)
    assert seeds.run_train(["recipe.yaml"]) == 128 + signal.SIGKILL
    assert asked == [["-m", "tf_transformer", "train", "recipe.yaml"], "terminate"]
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    from tf_transformer.errors import RunError

    folder = SeedsFolder(tmp_path)
    assert folder.results() is None
    for content, rule in (("nonsense", "is no JSON"), ("[]", "must hold an object")):
        folder.results_file.write_text(content)
        with pytest.raises(RunError, match=rule):
            folder.results()
