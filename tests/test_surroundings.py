"""Disks that fill while something is written, and files and folders that may not be read or written."""

import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from surroundings import SmallDisk, permissions_count

from tf_transformer.callbacks.records import Records
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.tensorboard import TensorBoardEvents
from tf_transformer.checkpoints import CheckpointStore, Index, step_name
from tf_transformer.cli import main
from tf_transformer.errors import ProjectError
from tf_transformer.evaluation import Outcome, Sample
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Preprocessor

WEIGHTS = {"kernel": np.arange(6000, dtype=np.float32)}


@pytest.fixture(scope="module")
def begun(reversal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two checkpoints of no model."""
    folder = RunFolder(tmp_path_factory.mktemp("begun") / "run")
    folder.create(with_files(load_recipe(reversal), reversal.parent))
    Preprocessor.train(["1 2 3"], ["3 2 1"], tokenizer="words").save(folder.tokenizer)
    store = CheckpointStore(folder.checkpoints)
    for step in (3, 5):
        store.write(step_name(step), WEIGHTS, {"adam/m": np.ones(2)}, {"step": step, "best_step": 3})
        folder.append_metrics({"step": step, "val_bleu": 5.0})
    store.write_index(Index(last=5, best=3, kept=[3, 5]))
    folder.log_event("reset", "data begun anew at update 3")
    folder.write_results({"metrics": {"test_bleu": 5.0}})
    return folder.path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk whose files can be cut short anywhere."""
    disk = SmallDisk(tmp_path / "disk", mount=False)
    yield disk
    disk.close()


OUTCOME = Outcome({"val_bleu": 7.0}, [Sample("a" * 999, "b", "c")])


def other_recipe(run: RunFolder) -> None:
    run.write_recipe(run.recipe().replaced("training", steps=7))


def tensorboard(run: RunFolder) -> None:
    TensorBoardEvents(TrainingState(step=7), run.tensorboard).on_validation(
        {"gradient_norm": 1.0, "skipped_updates": 0, "target_padding": 0.5, "target_tokens_per_second": 7.0},
        OUTCOME,
    )


# What is written, and how.
WRITES: dict[str, Callable[[RunFolder], Any]] = {
    "metrics.jsonl": lambda run: run.append_metrics({"step": 7, "val_bleu": 7.0}),
    "events.jsonl": lambda run: run.log_event("reset", "schedule begun anew at update 7"),
    "results.json": lambda run: run.write_results({"metrics": {"test_bleu": 7.0}}),
    "recipe.yaml": other_recipe,
    "samples": lambda run: Records(run).on_validation({"step": 7}, OUTCOME),
    "tensorboard": tensorboard,
    "tokenizer": lambda run: Preprocessor.train(["4 5"], ["5"], tokenizer="words").save(run.tokenizer),
    "checkpoints/index.json": lambda run: CheckpointStore(run.checkpoints).write_index(Index(last=5)),
    "checkpoints/step-00000007": lambda run: CheckpointStore(run.checkpoints).write(step_name(7), WEIGHTS),
    "checkpoints/step-00000005": lambda run: CheckpointStore(run.checkpoints).write(step_name(5), WEIGHTS),
}


def contents(run: Path) -> dict[str, bytes]:
    """Every file of a run but TensorBoard's, which are many and which its readers take as far as they go."""
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file() and "tensorboard" not in path.parts
    }


@pytest.mark.parametrize("what", WRITES)
def test_a_write_that_finds_no_room_leaves_what_was_there(begun: Path, disk: SmallDisk, what: str) -> None:
    run = RunFolder(shutil.copytree(begun, disk.folder / "run"))
    before = contents(run.path)
    # Lines are appended: the file is cut ten bytes into the new one. Others are cut after ten bytes.
    disk.fill(10 + ((run.path / what).stat().st_size if what.endswith(".jsonl") else 0))
    with pytest.raises((OSError, ProjectError)) as raised:
        WRITES[what](run)
    disk.free()
    assert "\n" not in str(raised.value)
    assert contents(run.path) == before
    WRITES[what](run)  # there is room again
    assert contents(run.path) != before or what == "tensorboard"


CLOSED = (
    "train.tsv",
    "recipe.yaml",
    "run",
    "run/recipe.yaml",
    "run/versions.json",
    "run/tokenizer",
    "run/results.json",
    "run/checkpoints",
    "run/checkpoints/index.json",
    "run/checkpoints/step-00000005",
    "run/checkpoints/step-00000005/state.json",
    "run/checkpoints/step-00000005/training.npz",
)


@pytest.mark.parametrize("closed", CLOSED)
def test_what_may_not_be_read_is_named_in_one_line(
    begun: Path, reversal: Path, tmp_path: Path, closed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(reversal.parent, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("run"))
    shutil.copytree(begun, tmp_path / "run")
    before = contents(tmp_path / "run")
    path = tmp_path / closed
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(0)
    try:
        with permissions_count():
            code = main(["train", str(tmp_path / "recipe.yaml"), "--run", str(tmp_path / "run"), "--quiet"])
    finally:
        path.chmod(mode)
    shown = capsys.readouterr().err
    assert code in (1, 2)
    assert shown.count("\n") == 1
    assert str(path) in shown and "ermission denied" in shown, shown
    assert contents(tmp_path / "run") == before


def test_checkpoints_that_may_not_be_read_are_not_taken_for_none(
    begun: Path, reversal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(begun, tmp_path / "run")
    for name in ("results.json", "metrics.jsonl"):  # as before the first validation
        (run / name).unlink()
    (run / "checkpoints").chmod(0)
    with permissions_count():
        code = main(["train", str(reversal), "--run", str(run), "--quiet"])
    (run / "checkpoints").chmod(0o755)
    shown = capsys.readouterr().err
    assert (code, shown.count("checkpoints: Permission denied")) == (1, 1), shown


@pytest.mark.parametrize("place", ["run", "new/run"])
def test_a_run_that_may_not_be_written_is_named_in_one_line(
    begun: Path, reversal: Path, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(begun, tmp_path / "run")
    (tmp_path / "new").mkdir()
    closed = tmp_path / place.split("/")[0]
    closed.chmod(0o555)
    with permissions_count():
        code = main(["train", str(reversal), "--run", str(tmp_path / place), "--quiet"])
    closed.chmod(0o755)
    shown = capsys.readouterr().err
    assert code == 1
    assert shown.count("\n") == 1
    assert str(tmp_path / place) in shown and "ermission denied" in shown, shown
    assert not (tmp_path / "new" / "run").exists()
