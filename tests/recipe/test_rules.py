"""Rules between keys, and warnings."""

# ruff: noqa: E501 - a fault is one line, however long

from pathlib import Path

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import load_recipe

LIST = "data.dev=[{table: dev.tsv}, {source: dev.en, target: dev.de}]"


@pytest.mark.parametrize(
    ("overrides", "fault"),
    [
        (["model.hidden_dim=130"], "model.hidden_dim: must be a multiple of model.num_heads, which is 4; received 130"),
        (["model.max_length=99"], "model.max_length: is for learned positions, and model.positions is sinusoidal; received 99"),
        (
            ["model.positions=learned", "model.max_length=255"],
            "model.max_length: must be at least 256, the longer of data.max_source_length and max_target_length; received 255",
        ),
        (
            ["text.tokenizer=words", "text.byte_fallback=true"],
            "text.byte_fallback: is for training a SentencePiece tokenizer, and text.tokenizer is words; received true",
        ),
        (
            ["text.model=dev.tsv", "text.sentencepiece_type=bpe"],
            'text.sentencepiece_type: is for training a SentencePiece tokenizer, and text.model is given; received "bpe"',
        ),
        (
            ["text.tokenizer=bytes", "text.vocabulary_size=300"],
            "text.vocabulary_size: must be left out: bytes have a fixed vocabulary; received 300",
        ),
        (
            ["text.vocabulary_size=299"],
            "text.vocabulary_size: must be at least 300 with text.byte_fallback, which takes 256 pieces; received 299; "
            "or set text.byte_fallback to false",
        ),
        (
            ["text.model=dev.tsv", "text.shared=false"],
            "text.shared: must be true with text.model, which is one file for both sides; received false",
        ),
        (
            ["text.shared=false", "model.tie_embeddings=all"],
            'model.tie_embeddings: must be output or none where text.shared is false; received "all"',
        ),
        (
            ["text.tokenizer=words", "training.subword_sampling={}"],
            "training.subword_sampling: is for sentencepiece, and text.tokenizer is words",
        ),
        (["training.average=6"], "training.average: must be at most training.keep, which is 5; received 6"),
        (
            ["training.optimizer.weight_decay=0.1"],
            "training.optimizer.weight_decay: is adamw's, and training.optimizer.name is adam; received 0.1",
        ),
        (
            ["training.schedule={name: linear, warmup_steps: 700}"],
            "training.schedule.warmup_steps: must be less than training.steps, which is 700; received 700",
        ),
        (
            ["training.schedule={name: cosine, warmup_steps: 9, total_steps: 9}"],
            "training.schedule.total_steps: must be greater than training.schedule.warmup_steps, which is 9; received 9",
        ),
        (
            ["training={minutes: 3, schedule: {name: cosine}}"],
            "training.schedule.total_steps: is required where training has neither steps nor epochs",
        ),
        (["training={}"], "training: give at least one of steps, epochs and minutes, such as training.steps: 20000"),
        (
            ["text.normal_form=nfc", "data.train.normal_form=nfkc"],
            "data.train.normal_form: must be nfc, as text.normal_form or the other entries are: one form serves all text; "
            'received "nfkc"',
        ),
        (
            ["data.dev.normal_form=nfkc"],
            "data.dev.normal_form: must be none, as text.normal_form or the other entries are: one form serves all text; "
            'received "nfkc"',
        ),
        (
            [LIST],
            'data.dev.1.name: another entry of data.dev is called so too: give this one another name; received "dev"',
        ),
        (
            ["data.dev={one: {table: dev.tsv, name: two}}"],
            'data.dev.one.name: must be left out: the set is called one; received "two"',
        ),
    ],
)  # fmt: skip
def test_rules(folder: Path, overrides: list[str], fault: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(Path("recipe.yaml"), overrides)
    assert [line.partition(": ")[2] for line in caught.value.faults] == [fault]


@pytest.mark.parametrize(
    "overrides",
    [
        ["training={epochs: 3, schedule: {name: cosine}}"],
        ["training.optimizer={name: adamw, weight_decay: 0.1}"],
        ["text.vocabulary_size=299", "text.byte_fallback=false"],
        ["text.tokenizer=bytes"],
        ["text.tokenizer=wordpiece", "text.model=dev.tsv"],
        ["text.normal_form=nfc", "data.train.normal_form=nfc"],
        ["model.positions=learned", "model.max_length=256"],
        ["text.shared=false", "model.tie_embeddings=none"],
        ["training.average=5"],
    ],
)
def test_their_neighbours_are_allowed(folder: Path, overrides: list[str]) -> None:
    load_recipe(Path("recipe.yaml"), overrides)


def test_defaults_that_follow_other_keys(folder: Path) -> None:
    assert load_recipe(Path("recipe.yaml"), ["text.tokenizer=bytes"]).text.vocabulary_size is None
    words = load_recipe(Path("recipe.yaml"), ["text.tokenizer=words"]).text
    assert (words.vocabulary_size, words.sentencepiece_type, words.byte_fallback) == (8000, None, None)
    assert load_recipe(Path("recipe.yaml"), ["text.shared=false"]).model.tie_embeddings == "output"
    assert (
        load_recipe(Path("recipe.yaml"), ["training.optimizer.name=adamw"]).training.optimizer.weight_decay
        == 0.01
    )


def test_rules_are_told_together_with_faults_of_other_sections(folder: Path) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(Path("recipe.yaml"), ["model.hidden_dim=130", "training.seed=x"])
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("override", "warning"),
    [
        ("training.steps=600", "training.schedule.warmup_steps (1000) is more than training.steps (600): the learning rate never reaches its peak"),
        ("training.validate_every=701", "training.validate_every (701) is more than training.steps (700): validation runs only once, at the end"),
    ],
)  # fmt: skip
def test_warnings(folder: Path, override: str, warning: str) -> None:
    assert warning in load_recipe(Path("recipe.yaml"), [override]).warnings()


def test_r_drop_without_dropout_is_warned_of(folder: Path) -> None:
    overrides = ["training.schedule.warmup_steps=7", "training.r_drop=5"]
    assert [*load_recipe(Path("recipe.yaml"), overrides).warnings()] == []
    assert [*load_recipe(Path("recipe.yaml"), [*overrides, "model.dropout=0"]).warnings()] == [
        "training.r_drop compares two dropouts, and there is none: all of model's are 0"
    ]


def test_short_limits_for_bytes_are_warned_of(folder: Path) -> None:
    recipe = load_recipe(
        Path("recipe.yaml"),
        ["text.tokenizer=bytes", "data.max_source_length=50", "training.schedule.warmup_steps=7"],
    )
    assert [*recipe.warnings()] == [
        "data.max_source_length and data.max_target_length count bytes here, and are under 100"
    ]
