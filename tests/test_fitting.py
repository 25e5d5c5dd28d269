"""The learning rate after a stop, for every schedule: it goes on where it was, or begins anew on demand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest

from tf_transformer.build.optimization import build_optimizer, build_schedule
from tf_transformer.callbacks.checkpointing import split_variables
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.checkpoints import CheckpointStore, step_name
from tf_transformer.devices import open_devices
from tf_transformer.errors import RunError
from tf_transformer.fitting import Fitting
from tf_transformer.layers.dropout import Dropout
from tf_transformer.recipe import load_recipe
from tf_transformer.run_folder import RunFolder
from tf_transformer.training_step import TrainingModel

SCHEDULES = {
    # The paper's warm-up rises by this much an update, with a width of 16.
    "{name: noam, warmup_steps: 100}": 16**-0.5 * 100**-1.5,
    "{name: inverse_sqrt, peak: 0.3, warmup_steps: 100}": 0.003,
    "{name: constant, peak: 0.3, warmup_steps: 100}": 0.003,
    "{name: linear, peak: 0.3, warmup_steps: 100, total_steps: 700}": 0.003,
    "{name: cosine, peak: 0.3, warmup_steps: 100, total_steps: 700}": 0.003,
    "{name: exponential, peak: 0.3, warmup_steps: 100, decay_rate: 0.5}": 0.003,
}
"""Each with what its warm-up adds in an update: the rate of update n is n times that."""


class Point(keras.Model):
    """One weight, and a dropout."""

    COUNTS = ("target_tokens",)
    rate = 0.0

    def __init__(self) -> None:
        super().__init__(name="point")
        self.dropout = Dropout(self.rate, seed=3, name="dropout")
        self.dropout.build()
        self.place = self.add_weight(name="place", shape=(2,), initializer="zeros")
        self.built = True


def begun(folder: Path, recipe_file: Path, schedule: str, precision: str) -> Fitting:
    """A training of a point, as far as its optimizer and its checkpoints go."""
    recipe = load_recipe(recipe_file, [f"training.schedule={schedule}"])
    model = TrainingModel(Point())
    rate = model.adjustable(build_schedule(recipe.training, 16, batches_in_epoch=9))
    model.compile(optimizer=build_optimizer(recipe.training.optimizer, rate, precision))
    model.optimizer.build(model.model.trainable_variables)
    parts: dict[str, Any] = {name: None for name in Fitting.__dataclass_fields__}
    problem = SimpleNamespace(recipe=recipe, side_sizes=lambda side: "")
    parts |= {
        "folder": RunFolder(folder),
        "problem": problem,
        "store": CheckpointStore(folder / "checkpoints"),
    }
    parts |= {"state": TrainingState(), "model": model, "rate": rate}
    parts |= {"devices": open_devices("auto")}
    parts |= {"terminal": SimpleNamespace(say=lambda line: None), "task": SimpleNamespace(side=None)}
    return Fitting(**parts)


def update(fitting: Fitting, times: int) -> None:
    optimizer, variables = fitting.model.optimizer, fitting.model.model.trainable_variables
    for _ in range(times):
        optimizer.apply([np.ones(2, np.float32)], variables)
        fitting.state.step += 1


def stop(fitting: Fitting) -> None:
    fitting.store.write(
        step_name(fitting.state.step), *split_variables(fitting.model), fitting.state.to_json()
    )


def go_on(*arguments: Any) -> Fitting:
    """What a new process makes of the newest checkpoint."""
    fitting = begun(*arguments)
    checkpoint, _ = fitting.store.newest()
    assert checkpoint is not None
    fitting.restore(checkpoint)
    return fitting


def rate_of(fitting: Fitting) -> float:
    """The rate of the update that comes next."""
    return float(fitting.model.optimizer.learning_rate)


@pytest.mark.parametrize("precision", ["float32", "mixed_float16"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_stop_inside_warm_up(tmp_path: Path, reversal: Path, schedule: str, precision: str) -> None:
    arguments, rise = (tmp_path, reversal, schedule, precision), SCHEDULES[schedule]
    fitting = begun(*arguments)
    assert rate_of(fitting) == pytest.approx(rise)
    update(fitting, 3)
    fitting.model.optimizer.iterations.assign(50)
    fitting.state.step = 50
    stop(fitting)

    again = go_on(*arguments)
    assert rate_of(again) == pytest.approx(51 * rise)
    again.reset(["optimizer"])  # the schedule counts on
    assert rate_of(again) == pytest.approx(51 * rise)
    again.reset(["schedule"])
    assert rate_of(again) == pytest.approx(rise)
    update(again, 2)
    assert rate_of(again) == pytest.approx(3 * rise)
    stop(again)

    # It was begun anew once: the next start goes on from there.
    assert rate_of(go_on(*arguments)) == pytest.approx(3 * rise)
    assert go_on(*arguments).state.step == 52


def test_a_dropout_may_begin_midway(tmp_path: Path, reversal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (tmp_path, reversal, "{name: constant}", "float32")
    fitting = begun(*arguments)
    update(fitting, 3)
    stop(fitting)
    monkeypatch.setattr(Point, "rate", 0.5)
    again = go_on(*arguments)
    assert again.state.step == 3
    seeds = again.model.model.dropout.seed_generator.state
    assert seeds.numpy().tolist() == [3, 0]
    seeds.assign([3, 7])  # draws of its own, which the next stop keeps
    again.state.step = 4
    stop(again)
    assert go_on(*arguments).model.model.dropout.seed_generator.state.numpy().tolist() == [3, 7]


def test_another_optimizer_s_checkpoint_is_refused(tmp_path: Path, reversal: Path) -> None:
    arguments = (tmp_path, reversal, "{name: constant}")
    fitting = begun(*arguments, "float32")
    update(fitting, 3)
    stop(fitting)
    with pytest.raises(RunError, match=r"has no \S+, which continuing needs: another optimizer wrote it"):
        go_on(*arguments, "mixed_float16")
