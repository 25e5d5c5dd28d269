"""A run that was never trained: random weights, as many files as a real one."""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

RECIPE = """\
task: translate
data:
  train: {table: train.tsv}
  dev: {table: dev.tsv}
  test: {one: {table: dev.tsv}, two: {table: train.tsv}}
  max_source_length: 13
text: {tokenizer: characters, vocabulary_size: 31}
model: {num_layers: 1, hidden_dim: 8, intermediate_dim: 16, num_heads: 2}
training: {steps: 10, precision: float32, schedule: {warmup_steps: 5}, validate_every: 5}
decoding: {beam: 3, max_length_factor: 1, max_length_margin: 2}
"""


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with checkpoints at 5 and 10; 5 is the better one."""
    from tf_transformer.build import problem_of
    from tf_transformer.checkpoints import CheckpointStore, Index, step_name
    from tf_transformer.recipe import load_recipe, with_files
    from tf_transformer.run_folder import RunFolder

    folder = tmp_path_factory.mktemp("cli")
    (folder / "train.tsv").write_text("source\ttarget\nab cd\tdc ba\nefg\tgfe\nhi\tih\na\ta\n")
    (folder / "dev.tsv").write_text("source\ttarget\nab\tba\nefgh\thgfe\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    recipe = with_files(load_recipe(folder / "recipe.yaml"), folder)
    run = RunFolder(folder / "run")
    run.create(recipe)
    problem = problem_of(recipe)
    side = problem.make_side(problem.read())
    side.save(run.tokenizer)
    store = CheckpointStore(run.checkpoints)
    for step, bleu in ((5, 3.0), (10, 2.0)):
        seeded = problem_of(recipe.replaced("training", seed=step))
        weights = {v.path: v.numpy() for v in seeded.model(side, "float32").weights}
        store.write(step_name(step), weights, {}, {"step": step})
        run.append_metrics({"step": step, "val_bleu": bleu, "val_loss": 1 / step})
    store.write_index(Index(last=10, best=5, kept=[5, 10]))
    return run.path


@pytest.fixture(autouse=True, scope="session")
def loaded_once() -> Iterator[None]:
    """Keeps what was loaded, and its graphs, from one command to the next: tracing is what takes long."""
    from tf_transformer.cli import answering
    from tf_transformer.export import loading

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answering, "load_run", cache(answering.load_run))
        patch.setattr(loading.tf.saved_model, "load", cache(loading.tf.saved_model.load))
        yield


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Gives the process an input."""
    return lambda content: monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(content)))


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe of nine updates with a table of one row, in the current folder."""
    (tmp_path / "a.tsv").write_text("source\ttarget\na\tb\n")
    path = tmp_path / "recipe.yaml"
    path.write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.5}}\ntraining: {steps: 9}\n"
    )
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture(scope="session")
def fast(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as a model for CTranslate2."""
    from tf_transformer.cli import main
    from tf_transformer.export import ctranslate2_trial

    folder = tmp_path_factory.mktemp("fast") / "model"
    with pytest.MonkeyPatch.context() as patch:  # random weights end nothing and tie often
        patch.setattr(ctranslate2_trial, "_demand_same", lambda *_: None)
        assert main(["export", str(run), str(folder), "--format", "ctranslate2", "--quiet"]) == 0
    return folder
