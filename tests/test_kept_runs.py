"""Runs that earlier versions have written: they load, answer as they did, are exported and trained further.

``kept/`` holds them: one of each format, and of the newest one of each task; see its README.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trainings import events, start

from tf_transformer.beginning import Beginning
from tf_transformer.build import load_run
from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.errors import RunError
from tf_transformer.export.saved_model import export_saved_model
from tf_transformer.recipe import Recipe
from tf_transformer.run_folder import RUN_FORMAT, RunFolder, formats, overview_of
from tf_transformer.run_folder.formats import MIGRATIONS, Migration, migrated

KEPT = Path(__file__).parent / "kept"
RUNS = sorted(path.stem for path in KEPT.glob("*.zip"))
# Each graph takes seconds to trace: where two tasks share their code, the slow ring has the other.
QUICK = {"1-translate", "2-translate", "2-classify_text", "2-classify_vectors"}
ANSWERS = json.loads((KEPT / "answers.json").read_text(encoding="utf-8"))


@pytest.fixture
def unpacked(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a kept run, its recipe and its data."""
    shutil.unpack_archive(KEPT / f"{request.param}.zip", tmp_path)
    return tmp_path


def of(*names: Any) -> Any:
    """Tests with some of the kept runs."""
    return pytest.mark.parametrize("unpacked", names, indirect=True)


def everything(folder: Path) -> dict[str, bytes]:
    """The content of all files."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def answers_of(task: Any, asked: dict[str, Any]) -> list[Any]:
    """What a task says now: numbers that small changes of arithmetic change little, and texts."""
    if task.TASK == "translate":
        found = [hypothesis for each in task.n_best(asked["texts"], 2) for hypothesis in each]
        scored = task.score(asked["texts"], asked["targets"])
        return [*([each.text, each.score] for each in found), *(each.log_probability for each in scored)]
    if task.TASK == "generate":
        drawn = task.samples(asked["texts"], 1, seed=3, max_length=12)
        return [[each.text, each.log_probability] for each, *_ in drawn]
    examples = asked.get("texts") or [np.array(each, asked["dtype"]) for each in asked["examples"]]
    return [[each.label, *each.probabilities] for each in task.answers(examples)]


def flat(values: Any) -> list[Any]:
    """Numbers and texts, in order."""
    return [part for value in values for part in flat(value)] if isinstance(values, list) else [values]


def demand_close(found: Any, kept: Any) -> None:
    """Equal texts, and numbers to 1e-4."""
    found, kept = flat(found), flat(kept)
    numbers = [isinstance(value, float) for value in kept]
    assert [v for v, is_number in zip(found, numbers, strict=True) if not is_number] == [
        v for v, is_number in zip(kept, numbers, strict=True) if not is_number
    ]
    np.testing.assert_allclose(
        [v for v, is_number in zip(found, numbers, strict=True) if is_number],
        [v for v, is_number in zip(kept, numbers, strict=True) if is_number],
        atol=1e-4,
        rtol=0,
    )


def test_there_is_one_of_each_format_and_of_each_task() -> None:
    from tf_transformer.recipe.schema import RECIPES

    assert {int(name.split("-")[0]) for name in RUNS} == set(range(1, RUN_FORMAT + 1))
    assert {name.split("-")[1] for name in RUNS if name.startswith(f"{RUN_FORMAT}-")} == set(RECIPES)
    assert sorted(ANSWERS) == RUNS


@of(*(pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in RUNS))
def test_a_kept_run_answers_as_it_did_and_nothing_in_it_changes(unpacked: Path, request: Any) -> None:
    name = request.node.callspec.params["unpacked"]
    before = everything(unpacked)
    loaded = load_run(unpacked / "run")
    assert loaded.notes == ()  # nothing was found broken
    demand_close(answers_of(loaded.task, ANSWERS[name]["asked"]), ANSWERS[name]["answers"])
    assert overview_of(unpacked / "run").state == "finished"
    assert everything(unpacked) == before


@of(
    f"{RUN_FORMAT}-classify_vectors",
    *(pytest.param(f"{number}-translate", marks=pytest.mark.slow) for number in range(1, RUN_FORMAT + 1)),
)
def test_a_kept_run_is_trained_further(unpacked: Path) -> None:
    run = RunFolder(unpacked / "run")
    older = run.format
    assert start(unpacked / "recipe.yaml", run.path, "training.steps=42") == 0
    assert json.loads(run.versions_file.read_text())["run_format"] == RUN_FORMAT == run.format
    plain = CheckpointStore(run.checkpoints)  # which migrates nothing
    assert plain.index().last == 42 and run.metrics()[-1]["step"] == 42
    assert plain.read("step-00000042").training["training/rate_factor"] == 1.0
    told = [event for event in events(run.path) if event["event"] == "run format"] if older == 1 else []
    assert [event["detail"] for event in told] == (
        [f"from 1 to {RUN_FORMAT}: {MIGRATIONS[1].change}"] if older == 1 else []
    )


@pytest.mark.slow
@of(*(name for name in RUNS if name.startswith(f"{RUN_FORMAT}-")))
def test_a_kept_run_is_exported(unpacked: Path) -> None:
    loaded = load_run(unpacked / "run")
    samples = loaded.problem.samples(loaded.folder) or ["the cat sees a dog"]
    _, manifest = export_saved_model(loaded.task, unpacked / "export", samples=samples, facts={})
    assert manifest.verification


@of("1-translate")
def test_a_migration_that_was_cut_short_is_taken_up_again(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder(unpacked / "run")
    store = CheckpointStore.of(run)
    checkpoint, _ = store.newest()
    beginning = Beginning(run, store, run.recipe(), checkpoint)
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_format", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            beginning.write()
    assert run.format == 1 and load_run(run.path).step == 40
    before = everything(run.checkpoints)
    beginning.write()
    assert run.format == RUN_FORMAT and load_run(run.path).step == 40
    assert everything(run.checkpoints) == before  # what is migrated already is not written again


@of("1-translate")
def test_a_damaged_checkpoint_stops_no_migration(unpacked: Path) -> None:
    run = RunFolder(unpacked / "run")
    store = CheckpointStore.of(run)
    store.write("average", {"a": np.zeros(2)}, state={"step": 40})
    (run.checkpoints / "step-00000040" / "weights.npz").write_bytes(b"")
    store.rewrite()
    assert CheckpointStore(run.checkpoints).index().average_is_best is False
    assert store.read("average").training == {}
    with pytest.raises(RunError, match="damaged checkpoint"):
        store.read("step-00000040")


def test_a_run_of_a_format_before_reads_as_one_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A made-up format, in which dropout was called noise, in percent, and stood in another section."""

    def renamed(recipe: Any) -> Any:
        training = dict(recipe["training"])
        if "noise" not in training:
            return recipe
        noise = training.pop("noise")
        return {**recipe, "training": training, "model": {**recipe["model"], "dropout": noise / 100}}

    change = Migration("dropout is a share", recipe=renamed)
    monkeypatch.setitem(formats.MIGRATIONS, RUN_FORMAT, change)
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    values = {
        "task": "translate",
        "data": {"train": {"table": "a.tsv"}, "dev": {"fraction": 0.1}},
        "model": {"preset": "tiny"},
        "training": {"steps": 5, "noise": 30},
    }
    run.recipe_file.write_text(json.dumps(values))
    run.versions_file.write_text(json.dumps({"run_format": RUN_FORMAT}))
    recipe: Recipe = run.recipe()
    assert recipe.model.dropout == 0.3  # type: ignore[attr-defined]
    assert formats.changes_since(1) == [MIGRATIONS[1].change, "dropout is a share"]
    # A fault names the line that the section has in the file as it lies there.
    run.recipe_file.write_text(json.dumps({**values, "training": {"steps": 5, "noise": 300}}, indent=1))
    with pytest.raises(RunError, match=r"recipe\.yaml:\d+: model\.dropout: .*received 3"):
        run.recipe()


@pytest.mark.parametrize("document", ["recipe", "index", "state", "arrays"])
@pytest.mark.parametrize(
    "values",
    [
        {"task": "translate", "training": {"loss_chunk": 7}, "average_is_best": True},
        {"task": "translate", "training": None},
        {"task": "classify_text", "training": {}},
    ],
)
def test_what_is_migrated_stays_as_it_is(document: Any, values: dict[str, Any]) -> None:
    once = migrated(document, values, 1)
    again = migrated(document, once, 1)
    assert again is once and {key: once[key] for key in values} == values
    assert migrated(document, values, RUN_FORMAT) is values


@pytest.mark.parametrize("values", [None, [], "text", 3])
def test_what_is_no_document_is_left_to_its_reader(values: Any) -> None:
    assert migrated("recipe", values, 1) == values and migrated("index", values, 1) == values
