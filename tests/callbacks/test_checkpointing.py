"""When checkpoints are written, which stay, and that they hold all that training changes."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.build.optimization import build_optimizer
from tf_transformer.callbacks.checkpointing import (
    Checkpointing,
    raw_weights,
    split_variables,
    training_variables,
)
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.checkpoints import CheckpointStore, step_name
from tf_transformer.models import Transformer
from tf_transformer.recipe import Optimizer
from tf_transformer.training_step import TrainingModel


def saving(
    training: Any, folder: Path, every: int = 10**6, minutes: float | None = None, keep: int = 2
) -> Checkpointing:
    callback = Checkpointing(TrainingState(), CheckpointStore(folder), every, minutes, keep)
    callback.set_model(training)
    return callback


def run(callback: Checkpointing, *steps: int, validated: bool = False) -> None:
    for step in steps:
        callback.state.step = step
        if validated:
            callback.state.validated = step
        callback.on_train_batch_end(0)


def steps_of(folder: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*"))


def test_the_kept_may_be_the_best_ones(training: Any, tmp_path: Path) -> None:
    callback = saving(training, tmp_path)
    callback.rank = lambda steps: sorted(steps, key=lambda step: step % 7)  # 6, then 12, then 3, 9
    run(callback, 3, 6, 9, 12, validated=True)
    assert callback.store.index().kept == [6, 12]
    assert steps_of(tmp_path) == [6, 12]


def test_the_last_replaces_the_one_before(training: Any, tmp_path: Path) -> None:
    callback = saving(training, tmp_path, every=4)
    run(callback, *range(1, 11))
    assert steps_of(tmp_path) == [8]
    assert callback.store.index().last == 8
    training.stop_training = True
    run(callback, 11)
    assert steps_of(tmp_path) == [11]


def test_validated_checkpoints_stay_and_the_best_stays_longest(training: Any, tmp_path: Path) -> None:
    callback = saving(training, tmp_path)
    for step, best in ((3, 3), (6, 3), (9, 3), (12, 3)):
        callback.state.best_step = best
        run(callback, step, validated=True)
    index = callback.store.index()
    assert (index.last, index.best, index.kept) == (12, 3, [9, 12])
    assert steps_of(tmp_path) == [3, 9, 12]
    run(callback, 13)
    assert steps_of(tmp_path) == [3, 9, 12]  # nothing was due


def test_slow_updates_are_saved_by_the_clock(training: Any, tmp_path: Path) -> None:
    callback = saving(training, tmp_path, minutes=2)
    saved = []
    for step, seconds in ((1, 119), (2, 121), (3, 240), (4, 242)):
        callback.state.seconds = seconds
        run(callback, step)
        saved.append(callback.store.index().last)
    assert saved == [None, 2, 2, 4]


def test_a_skipped_update_writes_nothing_again(training: Any, tmp_path: Path) -> None:
    callback = saving(training, tmp_path, every=2)
    run(callback, 2)
    (tmp_path / step_name(2) / "state.json").unlink()
    run(callback, 2, 2, 3)
    assert not (tmp_path / step_name(2) / "state.json").exists()


def test_a_stop_saves_the_place_in_the_data_even_where_the_step_is_saved(
    training: Any, tmp_path: Path
) -> None:
    callback = saving(training, tmp_path, every=2)
    run(callback, 2)
    callback.state.batch, training.stop_training = 5, True  # skipped updates moved the data
    run(callback, 2)
    assert callback.store.read(step_name(2)).state["batch"] == 5


@pytest.fixture(scope="module", params=["adam", "adamw", "mixed_float16"])
def trained(request: pytest.FixtureRequest) -> Any:
    precision = request.param if request.param == "mixed_float16" else "float32"
    rates = {"dropout": 0.2, "attention_dropout": 0.1, "activation_dropout": 0.3}
    sizes = {"num_layers": 2, "hidden_dim": 4, "intermediate_dim": 6, "num_heads": 2}
    model = Transformer(vocabulary_size=11, dtype=precision, seed=3, **sizes, **rates)
    training = TrainingModel(model)
    settings = Optimizer(name="adam" if precision == "mixed_float16" else request.param)
    training.compile(optimizer=build_optimizer(settings, 0.01, precision))
    training.optimizer.build(model.trainable_variables)
    return training


def test_averages_answer_and_raw_weights_go_on(tmp_path: Path) -> None:
    sizes = {"num_layers": 1, "hidden_dim": 4, "intermediate_dim": 6, "num_heads": 2}
    training = TrainingModel(Transformer(vocabulary_size=11, seed=3, **sizes), ema=0.9)
    training.compile(optimizer=build_optimizer(Optimizer(), 0.01, "float32"))
    training.optimizer.build(training.model.trainable_variables)
    ids = tf.constant([[5, 7, 3], [6, 3, 0]], tf.int32)
    training.train_step(({"source_ids": ids, "target_ids": ids}, ids))
    store = CheckpointStore(tmp_path)
    store.write("a", *split_variables(training))
    found = store.read("a")
    raw = raw_weights(found)
    for weight, average in zip(training.model.weights, training.average.weights, strict=True):
        np.testing.assert_array_equal(found.weights[weight.path], average.numpy())
        np.testing.assert_array_equal(raw[weight.path], weight.numpy())
    assert any((raw[path] != found.weights[path]).any() for path in raw)
    store.write("b", raw, {})
    assert raw_weights(store.read("b")).keys() == raw.keys()


def test_no_two_variables_share_a_name(trained: Any) -> None:
    weights, training = split_variables(trained)
    everything = [*trained.variables, *trained.optimizer.variables]
    assert len(weights) + len(training) == len({id(variable) for variable in everything})
    seeds = [name for name in training if "seed_generator_state" in name]
    # Embeddings of both sides; per block: each residual, the attentions' weights, the feed-forward's inside.
    assert len(seeds) == 2 + 2 * (2 + 1 + 1) + 2 * (3 + 2 + 1)
    scaled = isinstance(trained.optimizer, keras.optimizers.LossScaleOptimizer)
    assert any(name.endswith("dynamic_scale") for name in training) == scaled
    assert any(name.endswith("iteration") for name in training)


def test_what_is_saved_decides_the_next_update(trained: Any) -> None:
    ids = tf.constant([[5, 7, 3], [6, 3, 0]], tf.int32)
    data = ({"source_ids": ids, "target_ids": ids}, ids)
    trained.train_step(data)
    weights, training = split_variables(trained)
    first = trained.train_step(data), split_variables(trained)
    for variable in trained.model.weights:
        variable.assign(weights[variable.path])
    for path, variable in training_variables(trained).items():
        variable.assign(training[path])
    again = trained.train_step(data), split_variables(trained)
    assert float(first[0]["loss"]) == float(again[0]["loss"])
    for mine, theirs in zip(first[1], again[1], strict=True):
        for name in mine:
            np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)
