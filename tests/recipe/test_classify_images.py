"""Recipes of pictures and of series of vectors: forms of their data, rules between keys, what a run watches."""

# ruff: noqa: E501 - a fault is one line, however long

from pathlib import Path

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import (
    commented_recipe,
    compare_recipes,
    data_files,
    dump_recipe,
    load_recipe,
    with_files,
)
from tf_transformer.recipe.classify_images import ClassifyImagesRecipe
from tf_transformer.recipe.classify_vectors import ClassifyVectorsRecipe

SOUND = """\
task: {task}
data:
  train: {{folder: photos}}
  dev: {{fraction: 0.1}}
training: {{epochs: 3}}
"""


@pytest.fixture
def images(folder: Path) -> Path:
    """A recipe of pictures, and files that entries may name."""
    for name in ("photos/cat/1.png", "photos/dog/2.png", "more/cat/3.png", "a.npz", "b.NPZ"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    (folder / "images.yaml").write_text(SOUND.format(task="classify_images"))
    (folder / "vectors.yaml").write_text(SOUND.format(task="classify_vectors"))
    return folder / "images.yaml"


def faults(recipe: Path, *overrides: str) -> list[str]:
    with pytest.raises(RecipeError) as raised:
        load_recipe(recipe, overrides)
    return raised.value.faults


def test_what_is_left_out_is_filled_in(images: Path) -> None:
    recipe = load_recipe(images)
    assert isinstance(recipe, ClassifyImagesRecipe)
    assert recipe.data.train_entries[0].title == "photos"
    assert (recipe.model.patch_size, recipe.model.stem, recipe.model.poolings) == (4, (), ("mean",))
    assert (recipe.training.batch_size, recipe.training.budget, recipe.training.best_by) == (
        64,
        64,
        "accuracy",
    )
    assert recipe.images.resize == "none" and recipe.training.augmentation.shift == 0
    vectors = load_recipe(images.with_name("vectors.yaml"), ["model.positions=learned", "data.max_length=7"])
    assert isinstance(vectors, ClassifyVectorsRecipe)
    assert vectors.model.max_length == 7 and vectors.model.poolings == ("mean",)


def test_entries_are_folders_arrays_and_tables(images: Path, folder: Path) -> None:
    recipe = load_recipe(
        images,
        [
            "data.train=[{folder: photos, weight: 2}, {arrays: a.npz, images: x, labels: y, name: other}]",
            "data.dev={one: {folder: more}, two: {table: dev.tsv, label: digit, height: 8, width: 8, white: 16}}",
            "data.test={arrays: b.NPZ}",
        ],
    )
    assert [entry.title for entry in recipe.data.train_entries] == ["photos", "other"]
    assert recipe.data.train_entries[0].weight == 2
    one, two = recipe.data.dev_sets.values()
    assert one.folder == folder / "more" and (two.label, two.channels, two.white) == ("digit", 1, 16.0)
    assert recipe.data.test_sets["test"].images == "images"
    assert [path.name for path in data_files(recipe)] == ["photos", "a.npz", "more", "dev.tsv", "b.NPZ"]
    vectors = load_recipe(
        images.with_name("vectors.yaml"),
        ["data.dev={table: dev.tsv, file: 1, label: 2}", "data.test={arrays: a.npz, lengths: sizes}"],
    )
    assert vectors.data.dev_sets["dev"].file == 1 and vectors.data.test_sets["test"].lengths == "sizes"


@pytest.mark.parametrize("task", ["classify_images", "classify_vectors"])
def test_the_commented_recipe_is_one(images: Path, folder: Path, task: str) -> None:
    for split in ("train", "dev"):
        (folder / split).mkdir()
    (folder / "all.yaml").write_text(commented_recipe(task))
    assert load_recipe(folder / "all.yaml").task == task


@pytest.mark.parametrize("name", ["images.yaml", "vectors.yaml"])
def test_what_is_written_is_read(images: Path, name: str) -> None:
    recipe = load_recipe(images.with_name(name), ["data.dev={arrays: a.npz}", "model.pooling=[mean, max]"])
    images.with_name("again.yaml").write_text(dump_recipe(recipe))
    assert load_recipe(images.with_name("again.yaml")) == recipe


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("data.train={folder: dev.en}", "data.train.folder: must be a folder, and {here}/dev.en is a file; received \"dev.en\""),
        ("data.train={folder: nowhere}", "data.train.folder: there is no folder {here}/nowhere; received \"nowhere\""),
        ("data.train={arrays: dev.tsv}", "data.train.arrays: must end in .npz, as numpy.savez writes it; received \"dev.tsv\""),
        ("data.train={table: dev.tsv, height: 8}", "data.train.width: is required: pixels from left to right"),
        ("data.train={table: dev.en, height: 8, width: 8}", "data.train.table: must end in one of .tsv, .tab, .csv, .jsonl, .ndjson, .gz may follow; received \"dev.en\""),
        ("data.train={folder: photos, images: x}", "data.train.images: unknown key; received \"x\""),
        ("images.resize=crop", "images.height: is required with images.resize, which is crop"),
        ("images={height: 10, width: 12}", "model.patch_size: must divide images.height, which is 10; received 4"),
        ("model.pooling=first", "model.pooling: asks for model.class_token: without it, first is the patch in the corner; received \"first\""),
        ("model.positions=rotary", "model.positions: must be one of learned, sinusoidal, none; received \"rotary\""),
        ("model.max_length=9", "model.max_length: "),
        ("training.batch_tokens=9", "training.batch_tokens: "),
        ("training.augmentation={rotate: 200}", "training.augmentation.rotate: must be at most 180; received 200"),
        ("training.augmentation={flip: left}", "training.augmentation.flip: must be one of none, horizontal, vertical, both; received \"left\""),
        ("evaluation.beam=2", "evaluation.beam: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(images: Path, folder: Path, override: str, fault: str) -> None:
    found = faults(images, override)
    wanted = f"command line: {fault.format(here=folder)}"
    assert any(line.startswith(wanted) for line in found), found


def test_an_added_picture_is_a_change_of_the_data(images: Path, folder: Path) -> None:
    old = with_files(load_recipe(images), folder)
    assert compare_recipes(old, with_files(load_recipe(images), folder)).logged == []
    (folder / "photos" / "cat" / ".thumbnail").write_bytes(b"x")
    assert compare_recipes(old, with_files(load_recipe(images), folder)).logged == []
    (folder / "photos" / "cat" / "7.png").write_bytes(b"x")
    (change,) = compare_recipes(old, with_files(load_recipe(images), folder)).logged
    assert change.key == "data.train.0.folder" and change.is_content


def test_what_pictures_are_cannot_change_midway(images: Path) -> None:
    old = load_recipe(images)
    for override in ("images.channels=1", "model.stem=[8]", "model.patch_size=2"):
        assert len(compare_recipes(old, load_recipe(images, [override])).refused) == 1
    changes = compare_recipes(
        old, load_recipe(images, ["training.augmentation.shift=0.2", "training.batch_size=9"])
    )
    assert not changes.refused and {change.key for change in changes.logged} == {
        "training.augmentation.shift",
        "training.batch_size",
    }


@pytest.mark.parametrize("name", ["images.yaml", "vectors.yaml"])
def test_two_equal_passes_are_noticed(images: Path, name: str) -> None:
    def noticed(*overrides: str) -> bool:
        recipe = load_recipe(images.parent / name, overrides)
        return any(line.startswith("training.r_drop compares two dropouts") for line in recipe.warnings())

    assert noticed("training.r_drop=1", "model.dropout=0") and not noticed("model.dropout=0")
    assert not noticed("training.r_drop=1", "model.dropout=0", "model.pooled_dropout=0.1")


@pytest.mark.parametrize("task", ["classify_images", "classify_vectors"])
def test_no_pooling_is_there_twice(task: str, folder: Path) -> None:
    (folder / "some.npz").touch()
    (folder / "some.yaml").write_text(
        f"task: {task}\ndata: {{train: {{arrays: some.npz}}, dev: {{arrays: some.npz}}}}\n"
        "model: {pooling: [max, mean, max]}\ntraining: {epochs: 3}\n"
    )
    with pytest.raises(RecipeError, match=r"model\.pooling: has max twice"):
        load_recipe(folder / "some.yaml")
