"""Overrides: where they are put, and how they name a folder."""

from pathlib import Path
from typing import Any

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import TranslateRecipe, load_recipe, short_overrides
from tf_transformer.recipe.overrides import OverrideFault, apply_override


@pytest.mark.parametrize(
    ("text", "expected", "path"),
    [
        ("model.dropout=0.3", {"model": {"dropout": 0.3}}, ("model", "dropout")),
        (" model.dropout =0.3", {"model": {"dropout": 0.3}}, ("model", "dropout")),
        ("a.b={c: [1, x]}", {"a": {"b": {"c": [1, "x"]}}}, ("a", "b")),
        ("a.b=", {"a": {"b": None}}, ("a", "b")),
        ("a.b=x=y", {"a": {"b": "x=y"}}, ("a", "b")),
        ("task=no", {"task": "no"}, ("task",)),
    ],
)
def test_values_are_yaml_and_sections_are_made(
    text: str, expected: dict[str, Any], path: tuple[str, ...]
) -> None:
    data: dict[str, Any] = {}
    assert apply_override(data, text) == path
    assert data == expected


def test_a_section_that_is_null_is_made() -> None:
    data: dict[str, Any] = {"model": None}
    apply_override(data, "model.dropout=0.3")
    assert data == {"model": {"dropout": 0.3}}


def test_the_only_entry_needs_no_number_and_several_do() -> None:
    one: dict[str, Any] = {"data": {"train": [{"source": "a"}]}}
    assert apply_override(one, "data.train.source=b") == ("data", "train", 0, "source")
    assert one == {"data": {"train": [{"source": "b"}]}}
    two: dict[str, Any] = {"data": {"train": [{"source": "a"}, {"source": "b"}]}}
    assert apply_override(two, "data.train.1.source=c") == ("data", "train", 1, "source")
    assert two["data"]["train"][1] == {"source": "c"}
    assert apply_override(two, "data.train.0={source: d}") == ("data", "train", 0)
    with pytest.raises(OverrideFault, match=r"data\.train has 2 entries: write data\.train\.0\.source"):
        apply_override(two, "data.train.source=c")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("model.dropout", r"an override must be section\.key=value"),
        ("=3", r"an override must be section\.key=value"),
        ("a..b=3", r"an override must be section\.key=value"),
        ("a.b=[1", "the value must be YAML: expected ',' or ']'"),
        ("a.b={c: 1, c: 2}", "the value must be YAML: this key stands here twice"),
        ("task.name=3", "task is no section that holds name"),
        ("task.name.first=3", "task is no section that holds name"),
        ("list.7.x=3", "list has 2 entries, counted from 0"),
        ("list.7=3", "list has 2 entries, counted from 0"),
        ("lists.x=3", "lists.0 is no section that holds x"),
    ],
)
def test_faults(text: str, rule: str) -> None:
    with pytest.raises(OverrideFault, match=rule):
        apply_override({"task": "translate", "list": [{}, {}], "lists": [[1]]}, text)


def test_a_fault_of_an_override_is_told_as_one_of_the_command_line(folder: Path) -> None:
    with pytest.raises(
        RecipeError, match=r'^command line: an override must be section\.key=value; received "steps"$'
    ):
        load_recipe(Path("recipe.yaml"), ["steps"])


def test_paths_on_the_command_line_start_at_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "mine.en").touch()
    monkeypatch.chdir(other)
    recipe = load_recipe(
        Path("../recipe.yaml"), ["data.train.source=mine.en", "data.dev={table: ../dev.tsv}"]
    )
    assert recipe.data.train_entries[0].columns_read == {
        "source": other / "mine.en",
        "target": folder / "train.de",
    }
    assert recipe.data.dev_sets["dev"].table == folder / "dev.tsv"  # type: ignore[union-attr]


def test_later_overrides_win(folder: Path) -> None:
    recipe = load_recipe(Path("recipe.yaml"), ["training.seed=2", "training.seed=3"])
    assert recipe.training.seed == 3


@pytest.mark.parametrize(
    ("overrides", "short"),
    [
        ([], ""),
        (["training.seed=2"], "seed=2"),
        (["training.seed=1", "training.seed=2"], "seed=2"),
        (["model.norm=post", "model.dropout=0.3"], "dropout=0.3,norm=post"),
        (["training.schedule.name=noam"], "schedule.name=noam"),
        (["decoding.beam=2"], "decoding.beam=2"),
        (["nonsense.key=1"], "nonsense.key=1"),
    ],
)
def test_short_form(overrides: list[str], short: str) -> None:
    assert short_overrides(overrides, TranslateRecipe) == short


def test_short_form_with_letters_that_no_folder_should_have_carries_a_digest() -> None:
    assert short_overrides(["data.train.source=a/b.txt"], TranslateRecipe) == "train.source=a_b.txt-47a3227b"
