"""Preparing: shards that are made once, wherever it was stopped, and hold what training would have made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.build import problem_of
from tf_transformer.build.preparation import Preparation
from tf_transformer.build.prepared_index import finish, report_lines
from tf_transformer.data.prepared import PreparedCorpus
from tf_transformer.errors import RecipeError, RunError
from tf_transformer.processes import in_processes
from tf_transformer.recipe import load_recipe


def here(work: Any, jobs: Any) -> Iterator[Any]:
    return map(work, jobs)


def prepared(recipe: Path, folder: Path, *overrides: str, shards: int = 4) -> Preparation:
    said: list[str] = []
    work = Preparation(load_recipe(recipe, overrides), folder, shards, said.append)
    if work.begin(fresh=False):
        work.make_tokenizer(here)
        assert [*map(work.work(), work.shards_left())]
        finish(work)
    return work


@pytest.fixture(scope="module")
def folder(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reversal task's training text, prepared."""
    made = tmp_path_factory.mktemp("prepare") / "ready"
    prepared(reversal, made)
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_holds_what_training_would_have_made(reversal: Path, folder: Path) -> None:
    problem = problem_of(load_recipe(reversal))
    examples = problem.read()
    side = problem.make_side(examples)
    encoded, found = problem.encode(examples, side), PreparedCorpus.open(folder / "index.json")
    assert len(found) == len(encoded) == 4600 and len(found.index["shards"]) == 4
    ids = found.read(range(len(found.blocks)))
    for name, column in encoded.columns.items():
        assert ids[name][0].tolist() == column.flat_values.numpy().tolist()
        assert found.lengths[name].tolist() == encoded.lengths[name].tolist()
    assert found.lines.tolist() == encoded.lines.tolist()
    assert found.reports[0].to_lines() == encoded.reports[0].to_lines()
    assert found.index["vocabulary"]["lines"] == found.index["vocabulary"]["of"] == 4600


def test_what_was_stopped_goes_on_and_ends_the_same(reversal: Path, folder: Path, tmp_path: Path) -> None:
    work = Preparation(load_recipe(reversal), tmp_path / "ready", 4, lambda line: None)
    assert work.begin(fresh=False)
    work.make_tokenizer(here)
    first, second, *_ = work.shards_left()
    work.work()(first)
    shards = work.folder / "shards"
    (shards / f".{second.file}.7.writing").write_bytes(b"half of it")
    (shards / second.file).write_bytes(b"whole, but nothing says so")
    before = (shards / first.file).stat().st_mtime_ns
    prepared(reversal, work.folder)
    assert (shards / first.file).stat().st_mtime_ns == before
    ours, theirs = contents(work.folder), contents(folder)
    assert ours.keys() == theirs.keys()
    arrays = {name for name in ours if name.endswith(".npz")}  # archives have times in them
    assert all(ours[name] == theirs[name] for name in ours.keys() - arrays)
    assert not work.begin(fresh=False)


@pytest.mark.slow
def test_two_processes_make_the_same(reversal: Path, folder: Path, tmp_path: Path) -> None:
    work = Preparation(load_recipe(reversal), tmp_path / "ready", 4, lambda line: None)
    work.begin(fresh=False)
    work.make_tokenizer(here)
    lines = [*in_processes(work.work(), work.shards_left(), 2)]
    assert sum(lines) == 4600
    for job in work.agenda.shards:
        assert (work.folder / "shards" / job.file).read_bytes() == (folder / "shards" / job.file).read_bytes()


def test_a_folder_of_something_else_is_left_alone(reversal: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"ready: was made with text.lowercase: False, and the recipe has True;"
    ):
        prepared(reversal, folder, "text.lowercase=true")
    with pytest.raises(RunError, match=r"ready: was begun in 4 shards, and now there are 2; name another"):
        prepared(reversal, folder, shards=2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for fresh in (False, True):
        with pytest.raises(RunError, match=r"mine: holds files that prepare did not write; name another"):
            Preparation(load_recipe(reversal), tmp_path / "mine", 4, print).begin(fresh)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_what_cannot_be_done_in_parts_is_refused(reversal: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"data.train.0.deduplicate: cannot be done part by part"):
        prepared(reversal, tmp_path / "ready", "data.train.deduplicate=true")
    text = tmp_path / "text.txt"
    text.write_text("one line\n" * 9)
    (tmp_path / "lm.yaml").write_text(
        "task: generate\ndata: {train: {text: text.txt}, dev: {text: text.txt}}\ntraining: {steps: 1}\n"
    )
    with pytest.raises(RecipeError, match=r"task: prepare is for translate. Received: generate"):
        prepared(tmp_path / "lm.yaml", tmp_path / "ready")


def test_a_vocabulary_from_a_sample_is_from_runs_all_over_the_text(reversal: Path, tmp_path: Path) -> None:
    work = Preparation(load_recipe(reversal, ["text.vocabulary_lines=1000"]), tmp_path / "a", 4, print)
    spans = [span for job in work.agenda.sample for part in job.chunks for span in part.values()]
    # 18 runs of up to 256 lines; 1,000 of 4,600 of them are 3 and a rest, each where a whole one is full.
    assert [span.first // 256 for span in spans] == [4, 9, 13]
    assert work.agenda.sampled == sum(span.last - span.first + 1 for span in spans)


def test_a_dev_set_is_carved_as_training_would(reversal: Path, tmp_path: Path) -> None:
    override = "data.dev={fraction: 0.1}"
    work = prepared(reversal, tmp_path / "ready", override)
    index = tmp_path / "ready" / "index.json"
    ours = problem_of(load_recipe(reversal, [override, f"data.prepared={index.parent}"])).read().dev
    theirs = problem_of(load_recipe(reversal, [override])).read()
    assert ours[0].columns == theirs.dev[0].columns
    assert len(PreparedCorpus.open(index)) == len(theirs.train[0])
    assert any("carved out" in line for line in report_lines(work))


def test_text_that_dev_shares_is_told(reversal: Path, tmp_path: Path) -> None:
    train = f"data.dev={{table: {reversal.parent / 'train.tsv'}}}"
    told = [*report_lines(prepared(reversal, tmp_path / "ready", train))]
    assert "dev: 4,600 of 4,600 rows (100.0%) have a source that is in train too (first: line 2)" in told
