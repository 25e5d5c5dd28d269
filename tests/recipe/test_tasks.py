"""More than one task: which keys are whose, shown with a made-up second one."""

# ruff: noqa: E501 - a fault is one line, however long

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import (
    RECIPES,
    Data,
    EarlyStopping,
    Recipe,
    Training,
    TranslateRecipe,
    commented_recipe,
    compare_recipes,
    data_files,
    json_schema,
    load_recipe,
    recipe_class,
    recipe_digest,
    short_overrides,
)
from tf_transformer.recipe.entries import Entry
from tf_transformer.recipe.fields import DataFile, Whole, key
from tf_transformer.recipe.keys import schema_keys


class Shapes(Entry):
    """A file of shapes."""

    shapes: DataFile = key(..., "File with shapes.", midway="logged", example="train.shapes")

    @property
    def title(self) -> str:
        return self.name or self.shapes.name


class CountData(Data):
    """Shapes."""

    train: Shapes = key(..., "Shapes to learn.", midway="logged")
    dev: Shapes = key(..., "Shapes to validate on.", midway="logged")
    test: Shapes | None = key(None, "Shapes to score.", midway="free")


class CountStopping(EarlyStopping):
    """Stops."""

    metric: Literal["misses", "loss"] = key("misses", "Measure of the first dev set.", midway="free")


class CountTraining(Training):
    """How long."""

    BUDGET: ClassVar[str] = "batch_size"
    STOPPING: ClassVar[type[EarlyStopping]] = CountStopping

    batch_size: Annotated[Whole, Field(ge=1)] = key(
        8, "Shapes of an update.", midway="logged", after="minutes"
    )
    early_stopping: CountStopping | None = key(None, "Stop early.", midway="free")


class CountRecipe(Recipe):
    """Counts the corners of shapes."""

    task: Literal["count_corners"] = key(..., "What is trained.", midway="refused", example="count_corners")
    data: CountData = key(..., "The shapes.", midway="logged")
    training: CountTraining = key(CountTraining(), "How long.", midway="logged")


COUNT = """\
task: count_corners
data:
  train: {shapes: train.en}
  dev: {shapes: dev.en}
training: {epochs: 3}
"""


@pytest.fixture
def count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe of the second task, beside the sound one of the first; there are no more."""
    for other in set(RECIPES) - {"translate"}:
        monkeypatch.delitem(RECIPES, other)
    monkeypatch.setitem(RECIPES, "count_corners", CountRecipe)
    (folder / "count.yaml").write_text(COUNT)
    return folder / "count.yaml"


def faults(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, overrides)
    return [fault.partition(": ")[2] for fault in caught.value.faults]


def test_the_task_chooses_the_form(count: Path) -> None:
    recipe = load_recipe(count)
    assert type(recipe) is CountRecipe and recipe_class("count_corners") is CountRecipe
    assert (recipe.training.budget, recipe.training.best_by) == (8, "misses")
    assert data_files(recipe) == [count.parent / "train.en", count.parent / "dev.en"]
    assert len(recipe_digest(recipe)) == 64
    translation = load_recipe(Path("recipe.yaml"))
    assert type(translation) is TranslateRecipe
    assert (translation.training.budget, translation.training.best_by) == (4096, "bleu")


def test_early_stopping_is_by_a_measure_of_the_task(count: Path) -> None:
    assert load_recipe(count, ["training.early_stopping={metric: loss}"]).training.best_by == "loss"
    assert load_recipe(count, ["training.early_stopping={}"]).training.best_by == "misses"
    assert faults(count, "training.early_stopping={metric: bleu}") == [
        'training.early_stopping.metric: must be one of misses, loss; received "bleu"'
    ]


def test_a_key_of_another_task_is_told_as_such(count: Path) -> None:
    assert faults(count, "decoding={beam: 3}", "training.batch_tokens=5", "training.batch_siz=5") == [
        "training.batch_tokens: unknown key; received 5; it is a key of the task translate",
        "training.batch_siz: unknown key; received 5; nearest valid key is training.batch_size",
        'decoding: unknown key; received {"beam": 3}; it is a key of the task translate',
    ]
    assert faults(Path("recipe.yaml"), "training.batch_size=5") == [
        "training.batch_size: unknown key; received 5; it is a key of the task count_corners"
    ]


def test_without_a_task_what_is_wrong_in_any_is_told(count: Path) -> None:
    wrong = ["model.dropout=7", "text.shared=7", "training.seed=-1"]
    common = [
        "model.dropout: must be less than 1; received 7",
        "training.seed: must be at least 0; received -1",
    ]
    (count.parent / "none.yaml").write_text(COUNT.partition("\n")[2])
    assert faults(count, *wrong, "task=count_corner") == [
        'task: must be one of translate, count_corners; received "count_corner"; nearest valid value is count_corners',
        *common,
    ]
    assert faults(Path("none.yaml"), *wrong) == [*common, "task: is required: what is trained"]


def test_each_task_has_its_commented_recipe(count: Path) -> None:
    text = commented_recipe("count_corners")
    for name in ("train.shapes", "dev.shapes"):
        (count.parent / name).touch()
    (count.parent / "commented.yaml").write_text(text)
    assert type(load_recipe(count.parent / "commented.yaml")) is CountRecipe
    assert "batch_size: 8" in text and "batch_tokens" not in text
    # A key that a task adds stands where it says.
    assert [
        line for line in text.split("\n") if line.startswith(("  minutes", "  batch_size", "  precision"))
    ] == [
        "  minutes: null",
        "  batch_size: 8",
        "  precision: auto",
    ]


def test_the_json_schema_is_a_union(count: Path) -> None:
    schema = json_schema()
    assert schema["discriminator"]["propertyName"] == "task"
    kinds = [part["$ref"].rpartition("/")[2] for part in schema["oneOf"]]
    assert kinds == ["TranslateRecipe", "CountRecipe"]
    assert not [kind for kind in kinds if "files" in schema["$defs"][kind]["properties"]]


def test_another_task_is_refused_midway_and_nothing_else_is_told(count: Path) -> None:
    changes = compare_recipes(load_recipe(Path("recipe.yaml")), load_recipe(count))
    assert [str(change) for change in changes.refused] == ["task: translate in the run, count_corners now"]
    assert not (changes.logged or changes.free)


def test_short_names_hang_on_the_keys_of_the_task_alone(count: Path) -> None:
    assert short_overrides(["training.batch_size=7"], CountRecipe) == "batch_size=7"
    assert short_overrides(["model.num_heads=7"], CountRecipe) == "num_heads=7"
    assert {key.path for key in schema_keys(CountRecipe)} & {
        ("text", "shared"),
        ("decoding", "beam"),
    } == set()
