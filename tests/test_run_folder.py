"""Run folders: their name, their lock, their records."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tf_transformer.errors import RunError
from tf_transformer.recipe import Recipe, load_recipe
from tf_transformer.run_folder import RUN_FORMAT, RunFolder, default_run_path, versions


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    (tmp_path / "a.tsv").write_text("source\ttarget\nx\ty\n")
    path = tmp_path / "recipe.yaml"
    path.write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.1}}\ntraining: {steps: 5}\n"
    )
    return load_recipe(path)


@pytest.mark.parametrize(
    ("path", "overrides", "name"),
    [
        ("training/quickstart/recipe.yaml", [], "quickstart"),
        ("training/multi30k/paper.yaml", [], "multi30k-paper"),
        ("training/quickstart/recipe.yaml", ["training.seed=2"], "quickstart-seed=2"),
        ("a/small.yml", ["training.seed=2", "model.dropout=0.3"], "a-small-dropout=0.3,seed=2"),
        (
            "a/small.yml",
            ["decoding.beam=2", "evaluation.beam=3"],
            "a-small-decoding.beam=2,evaluation.beam=3",
        ),
    ],
)
def test_default_name(path: str, overrides: list[str], name: str) -> None:
    assert default_run_path(Path(path), overrides) == Path("runs") / name


def test_default_name_takes_the_folder_that_the_recipe_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert default_run_path(Path("recipe.yaml")) == Path("runs/mine")


def test_two_sets_of_overrides_never_share_a_name() -> None:
    long = "x" * 300
    sets = [
        [],
        ["data.train.source=a/b"],
        ["data.train.source=a_b"],
        ["data.train.source=a b"],
        ["training.optimizer.name=x"],
        ["training.schedule.name=x"],
        [f"text.model={long}1"],
        [f"text.model={long}2"],
        ["training.seed=1", "model.dropout=0.1"],
        ["training.seed=1", "model.dropout=0.2"],
    ]
    names = [default_run_path(Path("q/recipe.yaml"), overrides).name for overrides in sets]
    assert len(set(names)) == len(sets)
    assert all(len(name) < 120 and "/" not in name for name in names)
    same = default_run_path(Path("q/recipe.yaml"), ["model.dropout=0.1", "training.seed=1"]).name
    assert same == names[-2]


def test_a_created_run_explains_itself(tmp_path: Path, recipe: Recipe) -> None:
    run = RunFolder(tmp_path / "runs" / "one")
    assert not run.exists()
    run.create(recipe)
    assert run.exists() and run.samples.is_dir()
    written = json.loads(run.versions_file.read_text())
    assert written == versions()
    assert written["run_format"] == RUN_FORMAT and {"tf_transformer", "python", "tensorflow", "keras"} <= set(
        written
    )
    assert RunFolder.open(run.path).recipe() == recipe


def test_the_recipe_of_a_run_is_read_where_its_data_is_not(tmp_path: Path, recipe: Recipe) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(recipe)
    (tmp_path / "a.tsv").unlink()
    assert run.recipe() == recipe


def test_a_damaged_recipe_of_a_run_is_told(tmp_path: Path, recipe: Recipe) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(recipe)
    run.recipe_file.write_text("task: trans")
    with pytest.raises(RunError, match=r"recipe\.yaml:1: task: must be one of translate, "):
        run.recipe()


def test_opening_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nowhere: there is no such run folder"):
        RunFolder.open(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"is no run: it has no recipe\.yaml with a versions\.json"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            f'{{"run_format": {RUN_FORMAT + 1}}}',
            f"is a run of format {RUN_FORMAT + 1}, and this version reads up to {RUN_FORMAT}; install",
        ),
        ('{"run_format": 0}', "is a run of format 0, and there are formats from 1 on"),
        ('{"run_format": "new"}', "says no run_format"),
        ("[]", "says no run_format"),
        ("{", "says no run_format"),
    ],
)
def test_formats_that_cannot_be_read(tmp_path: Path, recipe: Recipe, content: str, message: str) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(recipe)
    run.versions_file.write_text(content)
    with pytest.raises(RunError, match=message):
        RunFolder.open(run.path)


def test_a_folder_with_something_else_in_it_is_not_taken(tmp_path: Path, recipe: Recipe) -> None:
    with pytest.raises(
        RunError, match=r"is no run and not empty \(a\.tsv is in it\); name another with --run"
    ):
        RunFolder(tmp_path).create(recipe)


def test_a_run_killed_while_it_was_begun_is_begun_again(tmp_path: Path, recipe: Recipe) -> None:
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.versions_file.write_text("{}")
    with run.lock():
        run.create(recipe)
    assert RunFolder.open(run.path).recipe() == recipe


HOLD = """
import sys, time
from pathlib import Path
from tf_transformer.run_folder import RunFolder
with RunFolder(Path(sys.argv[1])).lock():
    print("locked", flush=True)
    time.sleep(60)
"""


def test_two_trainers_cannot_share_a_run_and_a_dead_one_holds_nothing(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, run.path], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "locked\n"
        with (
            pytest.raises(RunError, match=rf"run: is in use by process {holder.pid} on .+ since 2"),
            run.lock(),
        ):
            pytest.fail("locked twice")
        with pytest.raises(RunError, match="is in use by process"):
            run.move_aside()
        holder.kill()
    assert (run.path / "lock").exists()
    with run.lock():
        assert json.loads((run.path / "lock").read_text())["pid"] == os.getpid()
    assert not (run.path / "lock").exists()


def test_a_lock_is_let_go_after_an_error(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    with pytest.raises(ValueError, match="inside"), run.lock():
        raise ValueError("inside")
    with run.lock():
        pass


TAKE = """
import sys
from pathlib import Path
from tf_transformer.errors import RunError
from tf_transformer.run_folder import RunFolder

path, taken = Path(sys.argv[1]), 0
for _ in range(40):
    try:
        with RunFolder(path / "run").lock():
            count = int((path / "count").read_text())
            (path / "count").write_text(str(count + 1))
            taken += 1
    except RunError:
        pass
print(taken)
"""


def test_the_lock_excludes_under_contention(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    command = [sys.executable, "-c", TAKE, str(tmp_path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    taken = [int(worker.communicate(timeout=60)[0]) for worker in workers]
    assert sum(taken) == int((tmp_path / "count").read_text()) > 0


def test_a_folder_that_vanishes_while_it_is_looked_at_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    is_dir = Path.is_dir

    def seen_and_gone(path: Path) -> bool:
        found = is_dir(path)
        if path == run.path and found:
            path.rmdir()
        return found

    monkeypatch.setattr(Path, "is_dir", seen_and_gone)
    assert run.fault() is None


def test_moving_aside_deletes_nothing(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    assert run.move_aside() is None
    for number in (1, 2):
        run.path.mkdir()
        for name in ("recipe.yaml", "versions.json", "kept"):
            (run.path / name).write_text(str(number))
        assert run.move_aside() == tmp_path / f"run.old-{number}"
        assert not run.path.exists()
    assert (tmp_path / "run.old-1" / "kept").read_text() == "1"
    left = {entry.name for entry in (tmp_path / "run.old-2").iterdir()}
    assert left == {"recipe.yaml", "versions.json", "kept"}


def test_only_a_run_is_moved_aside_locked_or_begun(tmp_path: Path, recipe: Recipe) -> None:
    run = RunFolder(tmp_path / "thesis")
    run.path.mkdir()
    (run.path / "chapter.tex").write_text("mine")
    rule = r"thesis: is no run and not empty \(chapter\.tex is in it\); name another with --run"
    for act in (run.move_aside, lambda: run.create(recipe), run.lock().__enter__):
        with pytest.raises(RunError, match=rule):
            act()
    assert [entry.name for entry in run.path.iterdir()] == ["chapter.tex"]


def test_a_run_killed_while_it_was_begun_is_no_foreign_folder(tmp_path: Path, recipe: Recipe) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(recipe)
    run.recipe_file.rename(run.path / ".recipe.yaml.abc123.writing")
    run.create(recipe)
    assert run.recipe() == recipe
    run.recipe_file.unlink()
    (run.samples / "mine.txt").touch()
    with pytest.raises(RunError, match=r"is no run and not empty \(samples is in it\)"):
        run.create(recipe)


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        ("file", "{0} is a file"),
        ("file/below/run", "{0}/below/run must be a folder or not there yet, and {0} is a file"),
        ("link", "{1} is a link that leads nowhere"),
        ("\udcff", "{2}: names of folders must be UTF-8, and one on the way there is not"),
    ],
)
def test_where_no_folder_can_be(tmp_path: Path, place: str, rule: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    run = RunFolder(tmp_path / place)
    assert run.fault() == rule.format(tmp_path / "file", tmp_path / "link", tmp_path / place)
    with pytest.raises(RunError, match=r"a file|leads nowhere|UTF-8"), run.lock():
        pass
    with pytest.raises(RunError, match=r"is a file, not the folder of a run|there is no such run folder"):
        RunFolder.open(run.path)


def test_a_folder_in_which_nothing_began_is_not_left(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "deep" / "run").lock():
        assert (tmp_path / "deep" / "run" / "lock").is_file()
    assert not (tmp_path / "deep" / "run").exists()


@pytest.mark.parametrize("name", ["lock", "metrics.jsonl", "checkpoints", "samples/deep"])
def test_a_run_does_not_write_where_its_links_lead(tmp_path: Path, recipe: Recipe, name: str) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(recipe)
    outside = tmp_path / "mine"
    outside.write_text("mine")
    path = run.path / name
    if path.is_dir():
        path.rmdir()
    path.symlink_to(outside)
    with pytest.raises(RunError, match=r"is a link( out of the run|; a run's lock)"), run.lock():
        pass
    assert outside.read_text() == "mine"


def test_links_within_a_run_and_to_a_whole_run_are_allowed(tmp_path: Path, recipe: Recipe) -> None:
    run = RunFolder(tmp_path / "run")
    run.create(recipe)
    (run.path / "newest").symlink_to(run.checkpoints)
    (tmp_path / "elsewhere").symlink_to(run.path)
    with RunFolder(tmp_path / "elsewhere").lock():
        assert run.recipe() == recipe


def test_metrics_grow_and_are_cut_at_a_step(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert run.metrics() == []
    run.truncate_metrics(3)
    for step in (5, 10, 15):
        run.append_metrics({"step": step, "loss": 1 / step, "val_loss": float("nan")})
    before = run.metrics_file.read_bytes()
    assert [row["step"] for row in run.metrics()] == [5, 10, 15]
    assert run.metrics()[0] == {"step": 5, "loss": 0.2, "val_loss": None}
    run.truncate_metrics(10)
    assert run.metrics_file.read_bytes() == b"".join(before.splitlines(keepends=True)[:2])
    run.append_metrics({"step": 15, "loss": 1 / 15, "val_loss": float("nan")})
    assert run.metrics_file.read_bytes() == before


def test_a_line_cut_by_a_kill_is_dropped(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.append_metrics({"step": 5})
    with run.metrics_file.open("ab") as file:
        file.write(b'{"step": 10, "lo')
    assert run.metrics() == [{"step": 5}]
    run.truncate_metrics(10)
    assert run.metrics_file.read_bytes() == b'{"step": 5}\n'


@pytest.mark.parametrize("line", ["{", "3", '{"loss": 1}', '{"step": "x"}', ""])
def test_a_damaged_line_of_metrics_is_named(tmp_path: Path, line: str) -> None:
    run = RunFolder(tmp_path)
    run.metrics_file.write_text(f'{{"step": 5}}\n{line}\n{{"step": 10}}\n')
    with pytest.raises(RunError, match=r"metrics\.jsonl:2: is no object with a step"):
        run.metrics()


def test_events_are_kept_in_order(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.log_event("recipe changed", "model.dropout: 0.1 in the run, 0.3 now")
    run.log_event("damaged checkpoint", "ä")
    rows = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["event"], row["detail"]) for row in rows] == [
        ("recipe changed", "model.dropout: 0.1 in the run, 0.3 now"),
        ("damaged checkpoint", "ä"),
    ]
    assert all(len(row["time"]) == 19 for row in rows)


def test_results(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert run.results() is None
    run.write_results({"metrics": {"test_bleu": 34.5, "bad": [float("inf")]}})
    assert run.results() == {"metrics": {"test_bleu": 34.5, "bad": [None]}}
    for content, rule in (("{", "is no JSON"), ("[" * 99_999, "is no JSON"), ("[]", "must hold an object")):
        run.results_file.write_text(content)
        with pytest.raises(RunError, match=rf"results\.json: {rule}"):
            run.results()
