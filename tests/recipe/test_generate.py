"""The recipe of a language model: forms of its data, rules between its keys, what is filled in."""

# ruff: noqa: E501 - a fault is one line, however long

from pathlib import Path

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import (
    GenerateRecipe,
    commented_recipe,
    data_files,
    dump_recipe,
    load_recipe,
    with_files,
)

SOUND = """\
task: generate
data:
  train: {text: train.en}
  dev: {fraction: 0.1}
training: {epochs: 3}
"""


@pytest.fixture
def texts(folder: Path) -> Path:
    """A recipe of a language model."""
    (folder / "texts.yaml").write_text(SOUND)
    return folder / "texts.yaml"


def test_what_is_left_out_is_filled_in(texts: Path) -> None:
    recipe = load_recipe(texts)
    assert isinstance(recipe, GenerateRecipe)
    assert (recipe.text.tokenizer, recipe.text.vocabulary_size, recipe.text.normal_form) == (
        "characters",
        8000,
        "none",
    )
    assert (recipe.data.unit, recipe.data.window) == ("text", 256)
    assert (recipe.evaluation.stride, recipe.decoding.stride) == (128, 128)
    assert (recipe.training.label_smoothing, recipe.training.best_by, recipe.model.tie_embeddings) == (
        0.0,
        "loss",
        True,
    )
    learned = load_recipe(texts, ["data.window=3", "model.positions=learned"])
    assert (learned.model.max_length, learned.decoding.stride) == (3, 1)


def test_entries_are_files_and_tables(texts: Path) -> None:
    recipe = load_recipe(
        texts,
        [
            "data.train=[{text: train.en, weight: 2}, {text: train.de, encoding: gb18030, name: other}]",
            "data.dev={one: {text: dev.en}, two: {text: dev.de}}",
            "data.test={text: dev2.de}",
        ],
    )
    assert [entry.title for entry in recipe.data.train_entries] == ["train", "other"]
    assert list(recipe.data.dev_sets) == ["one", "two"]
    assert [path.name for path in data_files(recipe)] == [
        "train.en",
        "train.de",
        "dev.en",
        "dev.de",
        "dev2.de",
    ]
    table = load_recipe(texts, ["data.unit=paragraph", "data.train={table: dev.tsv, columns: {text: 2}}"])
    assert table.data.train_entries[0].columns_read == {"text": 2}
    resolved = with_files(recipe, texts.parent)
    (texts.parent / "again.yaml").write_text(dump_recipe(resolved))
    assert load_recipe(texts.parent / "again.yaml") == resolved


@pytest.mark.parametrize(
    ("overrides", "fault"),
    [
        (
            ["text.tokenizer=words"],
            'text.tokenizer: must be sentencepiece, characters or bytes with data.unit text: words have no line ends; received "words"',
        ),
        (
            ["text.tokenizer=sentencepiece", "text.byte_fallback=false"],
            "text.byte_fallback: must be true with data.unit text: a line end is spelled as a byte; received false",
        ),
        (
            ["data.train={table: dev.tsv}"],
            'data.train.table: is for data.unit paragraph or line: a row is a text of its own, with an end; received "',
        ),
        (
            ["model.positions=learned", "model.max_length=255"],
            "model.max_length: must be at least data.window, which is 256; received 255",
        ),
        (
            ["decoding.stride=256"],
            "decoding.stride: must be at most 255, as data.window is 256; received 256",
        ),
        (
            ["evaluation.stride=257"],
            "evaluation.stride: must be at most 256, as data.window is 256; received 257",
        ),
        (["decoding.top_p=0"], "decoding.top_p: must be greater than 0; received 0"),
        (["decoding.banned=a"], 'decoding.banned: must be a list; received "a"'),
        (["data.train.source=train.en"], "data.train.source: unknown key; received"),
        (["decoding.beam=3"], "decoding.beam: unknown key; received 3; it is a key of the task translate"),
        (
            ["data.train.normal_form=nfc", "text.normal_form=nfkc"],
            "data.train.normal_form: must be nfkc, as text.normal_form or the other entries are",
        ),
    ],
)
def test_faults(texts: Path, overrides: list[str], fault: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(texts, overrides)
    assert any(fault in found for found in caught.value.faults), caught.value.faults


def test_lines_may_be_words(texts: Path) -> None:
    recipe = load_recipe(texts, ["data.unit=line", "text.tokenizer=words", "data.train={table: dev.tsv}"])
    assert recipe.data.unit == "line"
    assert load_recipe(texts, ["evaluation.stride=256"]).evaluation.stride == 256


def test_the_commented_recipe_is_one(texts: Path) -> None:
    text = commented_recipe("generate")
    for name in ("train.txt", "dev.txt"):
        (texts.parent / name).touch()
    (texts.parent / "commented.yaml").write_text(text)
    assert type(load_recipe(texts.parent / "commented.yaml")) is GenerateRecipe
