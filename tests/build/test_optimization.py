"""From a recipe to an optimizer and a schedule."""

from pathlib import Path

import keras
import numpy as np
import pytest

from tf_transformer.build import problem_of
from tf_transformer.build.optimization import build_optimizer, build_schedule
from tf_transformer.errors import RecipeError
from tf_transformer.recipe import Optimizer, Recipe, load_recipe
from tf_transformer.text import Preprocessor

SMALL = (
    "model.num_layers=1",
    "model.hidden_dim=6",
    "model.intermediate_dim=10",
    "model.num_heads=3",
    "text.tokenizer=words",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "a.tsv").touch()
    (folder / "recipe.yaml").write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.5}}\ntraining: {steps: 50}\n"
    )
    return folder / "recipe.yaml"


@pytest.fixture(scope="module")
def preprocessor() -> Preprocessor:
    return Preprocessor.train(["a b c d"], ["x y"], tokenizer="words", shared=False)


def read(path: Path, *overrides: str) -> Recipe:
    return load_recipe(path, [*SMALL, *overrides])


SCHEDULES = [
    ("name: noam, warmup_steps: 4", {1: 6**-0.5 * 4**-1.5, 4: 6**-0.5 / 2, 16: 6**-0.5 / 4}),
    ("name: inverse_sqrt, peak: 0.8, warmup_steps: 4", {1: 0.2, 4: 0.8, 16: 0.4}),
    ("name: constant, peak: 0.5, warmup_steps: 5", {1: 0.1, 5: 0.5, 99: 0.5}),
    # Half of it every two epochs of three batches.
    ("name: exponential, peak: 0.8, warmup_steps: 0, decay_rate: 0.5, decay_steps: 2", {1: 0.8, 7: 0.4}),
    (
        "name: exponential, peak: 0.8, warmup_steps: 0, decay_rate: 0.5, decay_steps: 2, unit: updates",
        {1: 0.8, 3: 0.4},
    ),
    ("name: linear, peak: 0.8, warmup_steps: 10", {5: 0.4, 10: 0.8, 30: 0.4, 50: 0.0}),
    ("name: linear, peak: 0.8, warmup_steps: 10, total_steps: 20", {10: 0.8, 15: 0.4, 20: 0.0}),
    ("name: cosine, peak: 0.8, warmup_steps: 10, final_fraction: 0.25", {10: 0.8, 30: 0.5, 50: 0.2}),
    ("name: cosine, peak: 0.8, warmup_steps: 10, period_steps: 20", {10: 0.8, 20: 0.4, 30: 0.8, 40: 0.4}),
    (
        "name: cosine, peak: 0.8, warmup_steps: 0, period_steps: 4, period_factor: 3",
        {2: 0.4, 4: 0.8, 10: 0.4, 16: 0.8},
    ),
    ("name: reduce_on_plateau, peak: 0.5, warmup_steps: 5", {1: 0.1, 5: 0.5, 99: 0.5}),
]


@pytest.mark.parametrize(("settings", "rates"), SCHEDULES)
def test_schedules_by_hand(path: Path, settings: str, rates: dict[int, float]) -> None:
    recipe = read(path, f"training.schedule={{{settings}}}")
    schedule = build_schedule(recipe.training, 6, batches_in_epoch=3)
    assert {step: float(schedule(step - 1)) for step in rates} == pytest.approx(rates, abs=1e-6)


def test_a_fall_without_steps_ends_with_the_last_epoch(path: Path) -> None:
    falling = ("training.schedule={name: linear, peak: 0.8, warmup_steps: 2}", "training.steps=null")
    recipe = read(path, *falling, "training.epochs=4")
    schedule = build_schedule(recipe.training, 6, batches_in_epoch=3)
    assert [float(schedule(step - 1)) for step in (2, 7, 12)] == pytest.approx([0.8, 0.4, 0.0], abs=1e-6)
    with pytest.raises(RecipeError, match=r"total_steps: must be given.*received: schedule linear and only"):
        timed = recipe.training.model_copy(update={"epochs": None, "minutes": 3.0})
        build_schedule(timed, 6, batches_in_epoch=3)


def test_the_optimizers_settings_arrive() -> None:
    settings = Optimizer(name="adam", beta_1=0.8, beta_2=0.7, epsilon=1e-3, clip_norm=0.5)
    optimizer = build_optimizer(settings, 0.1, "mixed_bfloat16")
    config = optimizer.get_config()
    assert (config["beta_1"], config["beta_2"], config["epsilon"]) == (0.8, 0.7, 1e-3)
    assert config["global_clipnorm"] == 0.5
    scaled = build_optimizer(settings, 0.1, "mixed_float16")
    assert isinstance(scaled, keras.optimizers.LossScaleOptimizer)
    assert scaled.inner_optimizer.get_config() == config


def test_decay_is_of_matrices_alone() -> None:
    optimizer = build_optimizer(Optimizer(name="adamw", weight_decay=0.5, clip_norm=None), 0.1, "float32")
    names = ("kernel", "table", "bias", "gamma", "beta")
    variables = [keras.Variable(np.ones(2, np.float32), name=name) for name in names]
    optimizer.build(variables)
    optimizer.apply([np.zeros(2, np.float32)] * len(names))
    # Without a gradient an update takes away the rate times the decay: 0.1 * 0.5 of a weight.
    values = {variable.name: float(variable.numpy()[0]) for variable in variables}
    assert values == pytest.approx({"kernel": 0.95, "table": 0.95, "bias": 1, "gamma": 1, "beta": 1})


def test_weights_that_are_no_matrix_are_those_left_without_decay(
    path: Path, preprocessor: Preprocessor
) -> None:
    recipe = read(path, "text.shared=false", "model.positions=learned")
    model = problem_of(recipe).model(preprocessor, "float32")
    optimizer = build_optimizer(Optimizer(name="adamw"), 0.1, "float32")
    optimizer.build(model.trainable_variables)
    for variable in model.trainable_variables:
        assert optimizer._use_weight_decay(variable) == (len(variable.shape) > 1), variable.path
