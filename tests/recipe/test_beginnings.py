"""Recipes that begin from a run: which weights that means, and which keys the run decides."""

import json
from pathlib import Path

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import data_files, dump_recipe, load_recipe
from tf_transformer.recipe.beginnings import run_of

INDEX = {"last": 7, "best": 5, "kept": [5, 7], "average_is_best": False}
FROM = "training.initialize_from=run"


@pytest.fixture
def run(folder: Path) -> Path:
    """A run of other sizes than the defaults, with two checkpoints and their average."""
    sizes = ["model.num_layers=3", "model.hidden_dim=64", "model.dropout=0.4", "text.vocabulary_size=777"]
    run = folder / "run"
    for name in ("step-00000005", "step-00000007", "average"):
        (run / "checkpoints" / name).mkdir(parents=True)
        (run / "checkpoints" / name / "weights.npz").write_text(name)
    (run / "checkpoints" / "index.json").write_text(json.dumps(INDEX))
    (run / "recipe.yaml").write_text(dump_recipe(load_recipe(folder / "recipe.yaml", sizes)))
    return run


@pytest.mark.parametrize(
    ("average", "best", "named", "checkpoint"),
    [
        (False, 5, "run", "step-00000005"),
        (True, 5, "run", "average"),
        (False, None, "run", "step-00000007"),
        (True, 5, "run/checkpoints/step-00000007", "step-00000007"),
        (False, 5, "run/checkpoints/average/weights.npz", "average"),
    ],
)
def test_a_run_stands_for_its_best_checkpoint(
    run: Path, average: bool, best: int | None, named: str, checkpoint: str
) -> None:
    index = {**INDEX, "best": best, "average_is_best": average}
    (run / "checkpoints" / "index.json").write_text(json.dumps(index))
    recipe = load_recipe(run.parent / "recipe.yaml", [f"training.initialize_from={named}"])
    weights = recipe.training.initialize_from
    assert weights == run / "checkpoints" / checkpoint / "weights.npz"
    assert weights is not None and run_of(weights) == run
    assert weights in data_files(recipe)  # so its SHA-256 is recorded


def test_what_is_left_out_is_the_runs(run: Path) -> None:
    recipe = load_recipe(run.parent / "recipe.yaml", [FROM, "model.dropout=0.2", "model.num_layers=3"])
    model, text = recipe.model, recipe.text  # type: ignore[attr-defined]
    assert (model.num_layers, model.hidden_dim, text.vocabulary_size) == (3, 64, 777)
    assert model.dropout == 0.2
    assert load_recipe(run.parent / "recipe.yaml", [FROM]).model.dropout == 0.4


def test_a_written_recipe_is_whole_without_the_run(run: Path) -> None:
    recipe = load_recipe(run.parent / "recipe.yaml", [FROM])
    written = run.parent / "written.yaml"
    written.write_text(dump_recipe(recipe))
    assert load_recipe(written) == recipe
    run.rename(run.with_name("elsewhere"))
    assert load_recipe(written, check_files=False) == recipe


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        (
            "model.hidden_dim=128",
            r"model\.hidden_dim: must be left out, or be that of .*run, which .*: 64; received 128",
        ),
        ("text.vocabulary_size=778", r"text\.vocabulary_size: must be .*: 777; received 778"),
        ("text.lowercase=yes", r"text\.lowercase: must be .*: false; received true"),
        ("text.model=train.en", r"text\.model: must be left out, .*: null; received "),
        (
            "model.initialize_encoder_from=preset",
            r"would be replaced by the weights of training",
        ),
        ("training.initialize_from=preset", r"must be a run, or a checkpoint in one: .*preset is none"),
        ("training.initialize_from=nowhere", r"must be a run, or a checkpoint in one: .*nowhere is none"),
    ],
)
def test_contradictions_are_told_by_key(run: Path, override: str, fault: str) -> None:
    with pytest.raises(RecipeError, match=fault):
        load_recipe(run.parent / "recipe.yaml", [FROM, override])


def test_an_update_has_keys_of_its_own(run: Path) -> None:
    recipe = load_recipe(run.parent / "recipe.yaml", [FROM, "text={update: merge, vocabulary_size: 900}"])
    text = recipe.text  # type: ignore[attr-defined]
    assert (text.update, text.vocabulary_size, text.sentencepiece_type) == ("merge", 900, "bpe")
    written = run.parent / "written.yaml"
    written.write_text(dump_recipe(recipe))
    assert load_recipe(written) == recipe

    of_run = run / "recipe.yaml"
    done = of_run.read_text().replace("update: null", "update: merge")
    of_run.write_text(done.replace("initialize_from: null", "initialize_from: elsewhere"))
    text = load_recipe(run.parent / "recipe.yaml", [FROM]).text  # type: ignore[attr-defined]
    assert (text.update, text.vocabulary_size) == (None, 777)  # what was done is not done again
    replaced = [FROM, "text={update: replace, sentencepiece_type: unigram}"]
    text = load_recipe(run.parent / "recipe.yaml", replaced).text  # type: ignore[attr-defined]
    assert (text.vocabulary_size, text.sentencepiece_type) == (8000, "unigram")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{update: merge}", r"text\.vocabulary_size: is required with text\.update: merge: the pieces that "),
        (
            "{update: merge, vocabulary_size: 900, model: dev.en}",
            r"text\.model: must be left out, or be that of",
        ),
        ("{update: replace, shared: false}", r"text\.shared: must be left out, or be that of .*: true"),
        (
            "{update: replace, tokenizer: bytes}",
            r"text\.update: must be left out: bytes have a fixed vocabul",
        ),
    ],
)
def test_what_an_update_cannot_do(run: Path, text: str, fault: str) -> None:
    with pytest.raises(RecipeError, match=fault):
        load_recipe(run.parent / "recipe.yaml", [FROM, f"text={text}"])


def test_an_update_is_of_a_run_and_of_text(run: Path) -> None:
    with pytest.raises(
        RecipeError, match=r"text\.update: is for the tokenizer of training\.initialize_from, "
    ):
        load_recipe(run.parent / "recipe.yaml", ["text={update: replace}"])
    (run.parent / "prepared").mkdir()
    with pytest.raises(RecipeError, match=r"text\.update: makes pieces anew, and data\.prepared has its own"):
        load_recipe(run.parent / "recipe.yaml", [FROM, "text={update: replace}", "data.prepared=prepared"])


def test_a_run_of_another_task(run: Path) -> None:
    written = (run / "recipe.yaml").read_text()
    (run / "recipe.yaml").write_text(written.replace("task: translate", "task: generate"))
    with pytest.raises(RecipeError, match=r"initialize_from: must be a run whose recipe can be read"):
        load_recipe(run.parent / "recipe.yaml", [FROM])
    (run / "recipe.yaml").write_text(
        "task: generate\ndata: {train: {text: a}, dev: {text: b}}\ntraining: {steps: 3}\n"
    )
    with pytest.raises(
        RecipeError, match=r"must be a run of the task translate, and .*run is one of generate"
    ):
        load_recipe(run.parent / "recipe.yaml", [FROM])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{}", r"must be one checkpoint of the run, such as .*step-00000007: its index cannot be read"),
        (
            json.dumps({**INDEX, "best": None, "last": None}),
            r"must be a run that was trained: .* has no",
        ),
    ],
)
def test_a_run_without_an_index_or_a_checkpoint(run: Path, content: str, fault: str) -> None:
    (run / "checkpoints" / "index.json").write_text(content)
    with pytest.raises(RecipeError, match=fault):
        load_recipe(run.parent / "recipe.yaml", [FROM])
