"""What may change in a recipe midway."""

# ruff: noqa: E501 - a fault is one line, however long

from pathlib import Path

import pytest

from tf_transformer.recipe import Recipe, compare_recipes, load_recipe, replaced, with_files


def read(folder: Path, *overrides: str) -> Recipe:
    return with_files(load_recipe(folder / "recipe.yaml", overrides), folder)


FREE = [
    "training.steps=800", "training.validate_every=7", "training.checkpoint_every=7", "training.keep=7",
    "training.average=3", "training.early_stopping={}", "decoding.beam=9", "decoding.length_formula=gnmt",
    "data.test={table: dev.tsv}", "evaluation.samples=1",
]  # fmt: skip
LOGGED = [
    "model.dropout=0.2", "training.schedule.peak=0.1", "training.schedule.name=noam", "training.label_smoothing=0",
    "training.optimizer.clip_norm=3", "training.batch_tokens=99", "data.on_long=truncate", "data.train.weight=2",
    "data.train=[{source: train.en, target: train.de}, {table: dev.tsv, name: more}]", "data.dev.table=dev2.tsv",
    "evaluation.tokenize=zh",
]  # fmt: skip
REFUSED = [
    "model.num_layers=3", "model.norm=post", "model.positions=none", "model.tie_embeddings=none",
    "text.vocabulary_size=999", "text.shared=false", "text.lowercase=true", "data.train.normal_form=nfc",
    "training.seed=2", "training.precision=float32", "training.optimizer.name=adamw", "data.dev={fraction: 0.1}",
]  # fmt: skip


@pytest.mark.parametrize(
    ("override", "kind"),
    [
        *((text, "free") for text in FREE),
        *((text, "logged") for text in LOGGED),
        *((text, "refused") for text in REFUSED),
    ],
)
def test_each_class_of_key(folder: Path, override: str, kind: str) -> None:
    changes = compare_recipes(read(folder), read(folder, override))
    found = {"free": changes.free, "logged": changes.logged, "refused": changes.refused}
    strictest = next(name for name in ("refused", "logged", "free") if found[name])
    assert strictest == kind


def test_the_same_recipe_is_no_change(folder: Path) -> None:
    changes = compare_recipes(
        read(folder), read(folder, "model.dropout=1e-1", "data.train=[{source: train.en, target: train.de}]")
    )
    assert not (changes.free or changes.logged or changes.refused)


def test_a_change_names_key_and_both_values(folder: Path) -> None:
    changes = compare_recipes(read(folder), read(folder, "model.norm=post", "training.schedule={name: noam}"))
    assert [str(change) for change in changes.refused] == ["model.norm: pre in the run, post now"]
    assert [str(change) for change in changes.logged] == [
        "training.schedule.name: inverse_sqrt in the run, noam now",
        "training.schedule.peak: 0.001 in the run, (absent) now",
        "training.schedule.warmup_steps: 1000 in the run, 4000 now",
        "training.schedule.scale: (absent) in the run, 1.0 now",
    ]


def test_data_that_was_moved_is_no_change_and_altered_data_is(folder: Path) -> None:
    old = read(folder)
    (folder / "moved.en").write_bytes((folder / "train.en").read_bytes())
    moved = compare_recipes(old, read(folder, "data.train.source=moved.en"))
    assert not (moved.free or moved.logged or moved.refused)
    (folder / "train.en").write_text("altered\n")
    (change,) = compare_recipes(old, read(folder)).logged
    assert change.key == "data.train.0.source"
    assert str(change.old).startswith("content ") and change.old != change.new


def test_auto_is_the_precision_that_the_run_has_chosen(folder: Path) -> None:
    chosen = replaced(read(folder), "training", precision="mixed_bfloat16")
    assert compare_recipes(chosen, read(folder)).refused == []
    (change,) = compare_recipes(chosen, read(folder, "training.precision=float32")).refused
    assert str(change) == "training.precision: mixed_bfloat16 in the run, float32 now"
