"""Rules between keys, and warnings."""

# ruff: noqa: E501 - a fault is one line, however long

from pathlib import Path

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import load_recipe, with_files

LIST = "data.dev=[{table: dev.tsv}, {source: dev.en, target: dev.de}]"


@pytest.mark.parametrize(
    ("overrides", "fault"),
    [
        (["model.hidden_dim=130"], "model.hidden_dim: must be a multiple of model.num_heads, which is 4; received 130"),
        (
            ["model.num_key_value_heads=3"],
            "model.num_key_value_heads: must divide model.num_heads, which is 4; received 3",
        ),
        (
            ["model.decoder_num_heads=2", "model.num_key_value_heads=4"],
            "model.num_key_value_heads: must divide model.decoder_num_heads, which is 2; received 4",
        ),
        (
            ["model.positions=rotary", "model.hidden_dim=20"],
            "model.positions: rotary needs heads of an even width, and 20 over 4 heads is odd; "
            'received "rotary"',
        ),
        (
            ["model.positions=rotary", "model.decoder_hidden_dim=20"],
            "model.positions: rotary needs heads of an even width, and 20 over 4 heads is odd; "
            'received "rotary"',
        ),
        (
            ["model.max_distance=9"],
            "model.max_distance: is for relative positions, and model.positions is sinusoidal; received 9",
        ),
        (
            ["model.decoder_hidden_dim=66"],
            "model.decoder_hidden_dim: must be a multiple of model.num_heads, which is 4; received 66",
        ),
        (
            ["model.decoder_num_heads=3"],
            "model.hidden_dim: must be a multiple of model.decoder_num_heads, which is 3; received 128",
        ),
        (
            ["model.decoder_hidden_dim=64", "model.tie_embeddings=all"],
            "model.tie_embeddings: must be output or none where the widths differ, here 128 and 64; "
            'received "all"',
        ),
        (
            ["training.schedule={name: cosine, period_factor: 2}"],
            "training.schedule.period_factor: is for a cosine that starts again, and "
            "training.schedule.period_steps is null; received 2",
        ),
        (
            ["training.schedule={name: cosine, period_steps: 50, total_steps: 900}"],
            "training.schedule.total_steps: must be left out with training.schedule.period_steps: falls that "
            "start again have no end; received 900",
        ),
        (
            ["training.schedule={name: reduce_on_plateau, patience: 5}", "training.early_stopping={patience: 5}"],
            "training.early_stopping.patience: must be greater than training.schedule.patience, which is 5, or "
            "training ends before the rate ever falls; received 5",
        ),
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
        *(
            (
                [f"training.profile={wrong}"],
                "training.profile: must be the first and the last update that are traced, at most 1000 of them, such "
                f"as [100, 110]; received {received}",
            )
            for wrong, received in (
                ("7", "7"), ("[3]", "[3]"), ("[9, 3]", "[9, 3]"), ("[0, 3]", "[0, 3]"), ("[1, 1001]", "[1, 1001]"),
                ("[1, 2.5]", "[1, 2.5]"), ("[true, 3]", "[true, 3]"),
            )
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
            ["data.train={table: dev2.tsv, columns: {source: [a, b]}}"],
            "data.dev.columns.source: must be as many as in the first entry of data.train, which has 2; received 1",
        ),
        (
            ["data.test={source: [dev.en, dev2.de], target: dev.de}"],
            "data.test.source: must be as many as in the first entry of data.train, which has 1; received 2",
        ),
        (
            ["data.dev.tag=de"],
            'data.dev.tag: must be left out, or given to every entry: the first of data.train has none; received "de"',
        ),
        (["data.train.tag=de"], "data.dev.tag: is required: the first entry of data.train has one"),
        (
            ["data.train=[{table: dev2.tsv, tag: fr}, {source: train.en, target: train.de, tag: de}]", "data.dev.tag=es"],
            'data.dev.tag: must be one of data.train: de, fr; received "es"',
        ),
        (["training.early_stopping={metric: rouge_l}"], 'training.early_stopping.metric: is not measured: evaluation.rouge is null; received "rouge_l"'),
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
        ["model.num_key_value_heads=2", "model.decoder_num_heads=2"],
        ["model.positions=rotary", "model.decoder_hidden_dim=64", "model.tie_embeddings=output"],
        ["model.positions=relative", "model.max_distance=3"],
        ["training={epochs: 3, schedule: {name: cosine, period_steps: 7, period_factor: 2}}"],
        ["training={minutes: 3, schedule: {name: cosine, period_steps: 7}}"],
        ["training.schedule={name: reduce_on_plateau, patience: 5}", "training.early_stopping={patience: 6}"],
    ],
)
def test_their_neighbours_are_allowed(folder: Path, overrides: list[str]) -> None:
    load_recipe(Path("recipe.yaml"), overrides)


def test_defaults_that_follow_other_keys(folder: Path) -> None:
    relative = load_recipe(Path("recipe.yaml"), ["model.positions=relative"]).model
    assert (relative.max_distance, load_recipe(Path("recipe.yaml")).model.max_distance) == (16, None)
    assert load_recipe(Path("recipe.yaml"), ["model.decoder_hidden_dim=64"]).model.tie_embeddings == "output"
    again = ["training.schedule={name: cosine, period_steps: 7}"]
    schedule = load_recipe(Path("recipe.yaml"), again).training.schedule
    assert (schedule.period_factor, schedule.total_steps) == (1, None)
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


def test_a_preset_is_a_folder_whose_weights_are_a_file_of_the_run(folder: Path) -> None:
    recipe = load_recipe(Path("recipe.yaml"), ["model.initialize_encoder_from=preset"])
    weights = folder / "preset" / "model.weights.h5"
    assert recipe.model.initialize_encoder_from == weights
    assert str(weights) in {record.path for record in with_files(recipe, folder).files}
    again = load_recipe(Path("recipe.yaml"), ["model.initialize_encoder_from=preset/model.weights.h5"])
    assert again.model == recipe.model
    with pytest.raises(
        RecipeError, match=r"initialize_encoder_from: there is no file .*/dev\.tsv/model\.weig"
    ):
        load_recipe(Path("recipe.yaml"), ["model.initialize_encoder_from=dev.tsv"])


def test_an_encoder_that_knows_no_direction_is_noted(folder: Path) -> None:
    (*_, line) = load_recipe(Path("recipe.yaml"), ["model.positions=alibi"]).warnings()
    assert line == (
        "model.positions: alibi counts distances the same either way: to the encoder a sentence and its "
        "mirror image are one"
    )
