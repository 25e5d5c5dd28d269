"""The range test: the rates it takes, when it ends, what it suggests."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.models import Transformer
from tf_transformer.optimizers import Adam
from tf_transformer.rate_range import RateRange, rate_range_of, rate_range_test, unit_rate
from tf_transformer.recipe import load_recipe
from tf_transformer.training_step import TrainingModel


def training_model() -> TrainingModel:
    model = Transformer(13, num_layers=1, hidden_dim=6, intermediate_dim=11, num_heads=3, dropout=0.0, seed=3)
    trained = TrainingModel(model)
    trained.compile(optimizer=Adam(trained.adjustable(unit_rate())))
    trained.optimizer.build(model.trainable_variables)
    return trained


def batches() -> tf.data.Dataset:
    """Copies of random sentences, always the same ones in the same order."""
    rng = np.random.default_rng(3)
    ids = rng.integers(4, 13, (400, 3, 5)).astype("int32")
    target = np.concatenate([np.full((400, 3, 1), 2, "int32"), ids[:, :, :-1]], -1)
    return tf.data.Dataset.from_tensor_slices(({"source_ids": ids, "target_ids": target}, ids))


def test_rates_grow_by_one_factor_until_the_loss_runs_away() -> None:
    model = training_model()
    seen = rate_range_test(model, batches(), lowest=1e-4, highest=100.0, updates=61)
    assert seen.exploded and 10 < len(seen.rates) < 61
    assert len(seen.losses) == len(seen.smoothed) == len(seen.rates)
    # Six decades in sixty steps.
    np.testing.assert_allclose(seen.rates, 1e-4 * 10 ** (np.arange(len(seen.rates)) / 10), rtol=1e-6)
    assert seen.smoothed[-1] > min(seen.smoothed) + 1.0
    assert seen.suggested is not None
    assert 1e-4 < seen.suggested < seen.lowest < seen.rates[-1]


def test_the_first_update_is_one_of_adam_at_the_lowest_rate() -> None:
    # Adam's first update of a weight is the rate times the sign of its gradient.
    model = training_model()
    before = [weight.numpy() for weight in model.model.trainable_variables]
    seen = rate_range_test(model, batches().take(2), lowest=1e-3, highest=2e-3, updates=2)
    assert not seen.exploded and len(seen.losses) == 2
    moved = max(
        np.abs(now.numpy() - then).max()
        for now, then in zip(model.model.trainable_variables, before, strict=True)
    )
    assert 2e-3 < moved < 3.1e-3
    # Smoothed by hand: 0.1 a over 0.1, then (0.09 a + 0.1 b) over 0.19.
    first, second = seen.losses
    np.testing.assert_allclose(seen.smoothed, [first, (0.09 * first + 0.1 * second) / 0.19], rtol=1e-6)


def test_it_suggests_where_half_of_the_fall_is_done() -> None:
    rates = [10.0**exponent for exponent in range(-9, 1)]
    # The way begins at the second update: from 8 down to 4, so 6 is half of it. The first says nothing yet.
    falling = RateRange(rates, [], [5.0, 8.0, 7.9, 7.0, 6.1, 5.9, 4.5, 4.0, 4.4, 7.0], True)
    assert (falling.lowest, falling.suggested) == (rates[7], rates[5])
    never = RateRange(rates, [], [5.0, 5.1, 5.1, *[5.4] * 7], True)
    assert never.suggested is None


def test_wrong_arguments() -> None:
    for lowest, highest in ((0.0, 1.0), (0.1, 0.1)):
        with pytest.raises(ValueError, match=r"`lowest` must be more than 0 and less than `highest`\. Rec"):
            rate_range_test(training_model(), batches(), lowest=lowest, highest=highest)
    with pytest.raises(ValueError, match=r"`highest` must be a finite number, at least 0\.1\. Received: 0"):
        rate_range_test(training_model(), batches(), lowest=0.1, highest=0.01)
    with pytest.raises(ValueError, match=r"`updates` must be at least 2\. Received: 1"):
        rate_range_test(training_model(), batches(), updates=1)


def test_pictures_are_changed_as_in_training(tmp_path: Path) -> None:
    images = np.random.default_rng(1).integers(0, 256, (6, 4, 4), "uint8")
    np.savez(tmp_path / "data.npz", images=images, labels=list("ababab"))
    entry = "{arrays: data.npz}"
    (tmp_path / "recipe.yaml").write_text(
        f"task: classify_images\ndata: {{train: {entry}, dev: {entry}}}\n"
        "model: {num_layers: 1, hidden_dim: 8, intermediate_dim: 8, num_heads: 2, dropout: 0}\n"
        "training: {steps: 5, precision: float32}\n"
    )

    def first_loss(*overrides: str) -> float:
        return rate_range_of(load_recipe(tmp_path / "recipe.yaml", overrides), updates=2).losses[0]

    plain = first_loss()
    assert first_loss() == plain
    assert first_loss("training.augmentation.brightness=0.9") != plain


def test_an_update_that_is_still_to_be_found_is_told(tmp_path: Path) -> None:
    (tmp_path / "data.tsv").write_text("text\tlabel\na b\tup\nb c\tdown\n")
    entry = "{table: data.tsv}"
    (tmp_path / "recipe.yaml").write_text(
        f"task: classify_text\ndata: {{train: {entry}, dev: {entry}}}\ntext: {{tokenizer: words}}\n"
        "model: {num_layers: 1, hidden_dim: 8, intermediate_dim: 8, num_heads: 2}\n"
        "training: {steps: 5, precision: float32, batch_tokens: auto}\n"
    )
    told: list[str] = []
    rate_range_of(load_recipe(tmp_path / "recipe.yaml", ()), updates=2, say=told.append)
    assert "training.batch_tokens is found when training begins; here it is 2,048" in told
