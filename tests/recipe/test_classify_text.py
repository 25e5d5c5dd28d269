"""The recipe of a text classification: keys that ask for others, and what may change midway."""

from pathlib import Path

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import compare_recipes, load_recipe, with_files

SOUND = """\
task: classify_text
data:
  train: {table: train.tsv}
  dev: {table: train.tsv}
model: {convolutions: [2, 3]}
training: {epochs: 3}
"""


@pytest.fixture
def path(folder: Path) -> Path:
    """A sound recipe, and its table."""
    (folder / "train.tsv").write_text("text\tlabel\na b\tx\n")
    (folder / "texts.yaml").write_text(SOUND)
    return folder / "texts.yaml"


@pytest.mark.parametrize(
    ("overrides", "fault"),
    [
        (
            ["model.pooling=stem"],
            'model.pooling: asks for model.convolutions, and there are none; received "stem"',
        ),
        (
            ["model.pooling=[mean, stem]"],
            'model.pooling: asks for model.convolutions, and there are none; received ["mean", "stem"]',
        ),
        (
            ["model.convolution_filters=5"],
            "model.convolution_filters: asks for model.convolutions, and there are none; received 5",
        ),
        (["model.embedding_deviation=0"], "model.embedding_deviation: must be greater than 0; received 0"),
        (
            ["model.pooling=marks"],
            'model.pooling: asks for text.special_tokens, and there are none; received "marks"',
        ),
        (["model.pooling=[mean, mean]"], 'model.pooling: has mean twice; received ["mean", "mean"]'),
        (
            [f"text.special_tokens=[{', '.join(f'<{n}>' for n in range(54))}]"],
            "text.special_tokens: must be at most 53 tokens; received 54",
        ),
    ],
)
def test_keys_that_ask_for_others(path: Path, overrides: list[str], fault: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, ["model.convolutions=[]", *overrides])
    assert [line.partition(": ")[2] for line in caught.value.faults] == [fault]


@pytest.mark.parametrize(
    ("override", "kind"),
    [
        ("model.pooling=[mean, stem]", "refused"),
        ("model.convolution_filters=5", "refused"),
        ("model.embedding_deviation=0.5", "refused"),
        ("model.pooled_dropout=0.5", "logged"),
    ],
)
def test_what_may_change_midway(path: Path, override: str, kind: str) -> None:
    recipes = [with_files(load_recipe(path, words), path.parent) for words in ([], [override])]
    changes = compare_recipes(*recipes)
    assert {name for name in ("free", "logged", "refused") if getattr(changes, name)} == {kind}


def test_a_table_has_one_beginning(path: Path) -> None:
    (path.parent / "model.weights.h5").touch()
    vectors, preset = path.parent / "train.tsv", path.parent
    overrides = [f"model.word_vectors={vectors}", f"model.initialize_encoder_from={preset}"]
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, overrides)
    (fault,) = caught.value.faults
    assert "model.word_vectors: would replace what model.initialize_encoder_from has put there" in fault
