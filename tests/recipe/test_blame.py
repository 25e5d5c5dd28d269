"""Whom a fault is blamed on, what is told once, and which suggestions help."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from tf_transformer.data.tables import table_kind
from tf_transformer.errors import DataError, RecipeError
from tf_transformer.recipe import load_recipe
from tf_transformer.recipe.faults import number
from tf_transformer.recipe.fields import TABLE_ENDINGS
from tf_transformer.recipe.parallel_entries import TrainFiles


def faults(lines: str, *overrides: str) -> list[str]:
    """The faults of the sound recipe with more lines and with overrides; none where it loads."""
    path = Path("changed.yaml")
    path.write_text(Path("recipe.yaml").read_text() + lines)
    try:
        load_recipe(path, overrides)
    except RecipeError as error:
        return error.faults
    return []


@pytest.mark.parametrize(
    ("lines", "override"),
    [
        ("model: {hidden_dim: 128}", "model.num_heads=7"),
        ("model: {max_length: 300, positions: learned}", "model.positions=none"),
        ("model: {max_length: 300, positions: learned}", "data.max_source_length=400"),
        ("model: {tie_embeddings: all}", "text.shared=false"),
        ("text: {byte_fallback: true}", "text.tokenizer=words"),
        ("text: {vocabulary_size: 290, byte_fallback: false}", "text.byte_fallback=true"),
        ("text: {vocabulary_size: 900}", "text.tokenizer=bytes"),
        ("text: {shared: false}", "text.model=dev.en"),
        ("  average: 5", "training.keep=4"),
        ("  optimizer: {name: adamw, weight_decay: 0.1}", "training.optimizer.name=adam"),
        ("  schedule: {name: linear, warmup_steps: 600}", "training.steps=600"),
        ("  schedule: {name: noam, scale: 2.0}", "training.schedule.name=constant"),
        ("", "training.steps=null"),
        ("", "data.dev.fraction=0.1"),
        ("", "data.train.table=dev.tsv"),
        ("text: {normal_form: none}", "data.train.normal_form=nfc"),
    ],
)
def test_what_an_override_breaks_is_blamed_on_the_command_line(
    folder: Path, lines: str, override: str
) -> None:
    assert faults(lines) == []
    found = faults(lines, override)
    assert found and all(fault.startswith("command line: ") for fault in found)


def test_what_the_file_has_wrong_is_not(folder: Path) -> None:
    found = faults(
        "model: {hidden_dim: 129, dropout: 2}\ntext: {lowercas: true}", "model.norm=post", "data.train.name=x"
    )
    assert [fault.partition(": ")[0] for fault in found] == ["changed.yaml:7", "changed.yaml:8"]
    assert faults("model: {hidden_dim: 129}", "model.norm=post") == [
        "changed.yaml:7: model.hidden_dim: must be a multiple of model.num_heads, which is 4; received 129"
    ]


def test_a_section_that_an_override_has_made_is_the_command_lines(folder: Path) -> None:
    Path("recipe.yaml").write_text("task: translate\ntraining: {steps: 3}\n")
    assert faults("", "data.train.source=train.en", "data.dev={fraction: 0.1}") == [
        "command line: data.train.target: is required: file with their translations, line by line"
    ]


@pytest.mark.parametrize(
    ("lines", "overrides", "fault"),
    [
        ("", ["data={trian: {table: dev.tsv}, dev: {table: dev.tsv}}"], "data.trian: unknown key; received"),
        ("", ["data.train={sorce: train.en, target: train.de}"], "data.train.sorce: unknown key; received"),
        ("", ["training.steps=[1"], "the value must be YAML: expected ',' or ']'"),
        ("", ["training={}", "training.steps=[1"], "the value must be YAML: expected ',' or ']'"),
        ("model: {num_layers: !!int x}", [], "model.num_layers: not a readable int"),
        ("model: !mine 3", [], "model: the tag !mine is not allowed in a recipe"),
    ],
)
def test_what_follows_from_a_fault_is_not_told(
    folder: Path, lines: str, overrides: list[str], fault: str
) -> None:
    (found,) = faults(lines, *overrides)
    assert fault in found


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("model.layers", "nearest valid key is model.num_layers"),
        ("model.heads", "nearest valid key is model.num_heads"),
        ("model.batch_tokens", "nearest valid key is training.batch_tokens"),
        ("decoding.beam_size", "nearest valid key is decoding.beam"),
        ("training.schedule.warmup", "nearest valid key is training.schedule.warmup_steps"),
        ("text.vocab_size", "nearest valid key is text.vocabulary_size"),
        ("evaluation.zebra", "valid keys here are samples, self_attention, tokenize, rouge, beam"),
        (
            "training.optimizer.momentum",
            "valid keys here are name, beta_1, beta_2, epsilon, weight_decay, clip_norm",
        ),
        ("zebra", "valid keys at the top are task, data, text, model, training, decoding, evaluation, about"),
    ],
)
def test_a_suggestion_is_like_the_key_or_the_valid_keys_are_listed(folder: Path, key: str, hint: str) -> None:
    assert faults("", f"{key}=1") == [f"command line: {key}: unknown key; received 1; {hint}"]


def test_what_a_terminal_would_obey_is_written_out(folder: Path) -> None:
    (found,) = faults('model: {"dro\\e[31m\\npout": "\\x9b\\x7f"}')
    assert "model.dro\\x1b[31m\\npout: unknown key" in found and "\\x9b\\x7f" in found
    (found,) = faults("", "model.norm=\x1b]0;title\x07")
    assert found.isprintable()


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e9, "1000000000"), (1e-9, "0.000000001"), (0.5, "0.5"), (10**9, "1000000000"), (0.0, "0"), ("x", "x")],
)
def test_limits_are_written_as_people_write_them(value: object, text: str) -> None:
    assert str(number(value)) == text


@pytest.mark.parametrize("ending", [*TABLE_ENDINGS, ".TSV", ".txt", "", ".tsv.zip", ".gz", ".xlsx", "tsv"])
@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
def test_the_reader_of_tables_takes_what_a_recipe_takes(folder: Path, ending: str, packed: str) -> None:
    name = f"some{ending}{packed}"
    (folder / name).touch()
    try:
        table_kind(folder / name)
        known = True
    except DataError:
        known = False
    assert (faults("", f"data.dev.table={name}") == []) is known


def test_pipes_and_devices_are_no_data_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe.tsv")
    assert faults("", "data.dev.table=pipe.tsv") == [
        f"command line: data.dev.table: must be a file, and {folder}/pipe.tsv is a pipe or device; "
        'received "pipe.tsv"'
    ]


def test_a_folder_whose_name_is_no_text_is_told() -> None:
    values = {"source": "train.en", "target": "train.de"}
    context = {"folder": Path("odd\udcff"), "check_files": False}
    with pytest.raises(ValidationError, match="must have a path in UTF-8: a run writes it down"):
        TrainFiles.model_validate(values, context=context)
