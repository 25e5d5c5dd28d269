"""From a run folder to a task, or an error that says what is missing."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from trainings import start

import tf_transformer
from tf_transformer.build import load_run
from tf_transformer.build.weights import set_weights
from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.errors import RunError, TextError
from tf_transformer.run_folder import RUN_FORMAT
from tf_transformer.text import Preprocessor, load_tokenizer, train_tokenizer


@pytest.fixture
def copy(trained_run: Path, tmp_path: Path) -> Path:
    """A trained run that may be damaged."""
    return shutil.copytree(trained_run, tmp_path / "run")


def test_a_loaded_run_says_what_it_is(trained_run: Path) -> None:
    loaded = load_run(trained_run, "600")
    assert (loaded.checkpoint, loaded.step) == ("step-00000600", 600)
    assert loaded.recipe.model.hidden_dim == 64
    assert loaded.folder.path == trained_run
    assert loaded.task.options.beam_size == 3
    saved = CheckpointStore(trained_run / "checkpoints").read("step-00000600").weights
    for variable in loaded.task.model.weights:
        np.testing.assert_array_equal(variable.numpy(), saved[variable.path])
    assert all(variable.dtype == "float32" for variable in loaded.task.model.weights)


def test_the_best_checkpoint_is_the_default(trained_run: Path) -> None:
    index = CheckpointStore(trained_run / "checkpoints").index()
    assert load_run(trained_run).step == index.best
    assert load_run(trained_run, "300").step == 300
    assert isinstance(tf_transformer.load(str(trained_run)), tf_transformer.tasks.Translator)


def test_a_run_is_read_without_its_data(copy: Path, reversal: Path) -> None:
    recipe = (copy / "recipe.yaml").read_text()
    (copy / "recipe.yaml").write_text(recipe.replace(str(reversal.parent), "/nowhere"))
    assert load_run(copy).recipe.data.train_entries[0].title == "train"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("", "there is no such run folder"),
        ("recipe.yaml", "is no run: it has no recipe.yaml"),
        ("versions.json", "is no run: it has no recipe.yaml with a versions.json beside it"),
        ("checkpoints", "this run holds no checkpoint; train it first"),
        ("checkpoints/step-00000600", "no such checkpoint"),
        ("checkpoints/step-00000600/weights.npz", "damaged checkpoint"),
        ("checkpoints/step-00000600/state.json", "damaged checkpoint"),
    ],
)
def test_a_run_that_is_not_whole_says_so(copy: Path, damage: str, message: str) -> None:
    path = copy / damage
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(RunError, match=message):
        load_run(copy, "last")


def test_a_run_without_its_tokenizer_says_so(copy: Path) -> None:
    shutil.rmtree(copy / "tokenizer")
    with pytest.raises(TextError, match=r"tokenizer/preprocessor\.json"):
        load_run(copy)


def test_a_run_with_the_tokenizer_of_another_one_is_refused(copy: Path, reversal: Path) -> None:
    other = load_run(copy).task.side
    tokens = other.source_tokenizer.tokens[4:]  # equally many, in another order
    train_tokenizer("words", [f"{token} " * (place + 1) for place, token in enumerate(tokens)], 14).save(
        copy.parent / "other"
    )
    Preprocessor(load_tokenizer(copy.parent / "other")).save(copy / "tokenizer")
    words = r"tokenizer: is not what .*step-00000600 was trained with: it is of another run, or was changed"
    with pytest.raises(RunError, match=words):
        load_run(copy, "last")
    with pytest.raises(RunError, match=words):
        start(reversal, copy, "training.steps=700")
    with pytest.raises(RunError, match=words):
        start(reversal, copy.parent / "new", f"training.initialize_from={copy}/checkpoints/step-00000600")
    state = copy / "checkpoints/step-00000600/state.json"
    assert len(json.loads(state.read_text())["side"]) == 64


def test_a_run_of_a_newer_format_is_refused(copy: Path) -> None:
    versions = json.loads((copy / "versions.json").read_text())
    (copy / "versions.json").write_text(json.dumps({**versions, "run_format": 99}))
    with pytest.raises(RunError, match=f"is a run of format 99, and this version reads up to {RUN_FORMAT};"):
        load_run(copy)


def test_weights_that_do_not_fit_are_named(trained_run: Path) -> None:
    loaded = load_run(trained_run)
    model, sizes = loaded.task.model, loaded.problem.side_sizes(loaded.task.side)
    weights = {variable.path: variable.numpy() for variable in model.weights}
    first = next(iter(weights))
    missing = {path: array for path, array in weights.items() if path != first}
    with pytest.raises(RunError, match=f"here: has no weight {first}: it belongs to a model of another"):
        set_weights(model, missing, "here", sizes)
    with pytest.raises(RunError, match="here: has weights that the recipe's model lacks, such as more"):
        set_weights(model, {**weights, "more": np.zeros(1)}, "here", sizes)
    wrong = {**{path: array + 1 for path, array in weights.items()}, first: np.zeros((3, 2), np.float32)}
    with pytest.raises(
        RunError, match=r"has shape \(3, 2\), and .* ask for .* \(vocabularies of 14 and 14\)"
    ):
        set_weights(model, wrong, "here", sizes)
    for variable in model.weights:  # refused as a whole: nothing was half set
        np.testing.assert_array_equal(variable.numpy(), weights[variable.path])
