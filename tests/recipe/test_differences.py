"""What a recipe says that its defaults do not."""

from pathlib import Path

from tf_transformer.recipe import differences, load_recipe, recipe_digest


def test_only_values_that_are_no_defaults_are_there(folder: Path) -> None:
    overrides = (
        "training.steps=700",
        "training.schedule={name: cosine, peak: 0.01, warmup_steps: 9}",
        "training.optimizer={name: adamw}",
        "data.train=[{source: train.en, target: train.de, weight: 2}, {table: dev.tsv}]",
        "evaluation.self_attention=true",
        "training.profile=[3, 9]",
    )
    found = differences(load_recipe(folder / "recipe.yaml", overrides))
    assert found["task"] == "translate" and found["training.steps"] == 700
    assert found["training.schedule.name"] == "cosine" and found["training.schedule.peak"] == 0.01
    assert found["training.optimizer.name"] == "adamw"
    assert "training.optimizer.weight_decay" not in found  # adamw's own default
    assert found["data.train.0.source"] == "train.en" and found["data.train.0.weight"] == 2
    assert found["data.train.1.table"] == "dev.tsv" and "data.train.1.weight" not in found
    assert found["evaluation.self_attention"] is True and found["training.profile"] == "3, 9"
    assert "training.seed" not in found and not any(key.startswith("files") for key in found)


def test_what_is_only_looked_at_changes_no_digest(folder: Path) -> None:
    plain = load_recipe(folder / "recipe.yaml")
    shown = load_recipe(folder / "recipe.yaml", ("evaluation.self_attention=true", "training.profile=[3, 9]"))
    other = load_recipe(folder / "recipe.yaml", ("training.seed=2",))
    assert recipe_digest(plain) == recipe_digest(shown) != recipe_digest(other)
