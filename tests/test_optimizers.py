"""The updates are those of Keras' optimizers, on one device and on two."""

import json
import subprocess
import sys
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer import optimizers

SETTINGS: dict[str, Any] = {"learning_rate": 0.01, "beta_2": 0.98, "epsilon": 1e-9, "global_clipnorm": 1.0}


def updated(optimizer: keras.optimizers.Optimizer) -> list[np.ndarray]:
    """Weights and slots after eleven updates in a graph."""
    rng = np.random.default_rng(3)
    variables = [keras.Variable(rng.normal(size=shape), dtype="float32") for shape in ((5, 3), (7,))]
    optimizer.build(variables)

    @tf.function
    def update(*gradients: tf.Tensor) -> None:
        optimizer.apply(list(gradients), variables)

    for _ in range(11):
        update(*(tf.constant(rng.normal(size=variable.shape), tf.float32) for variable in variables))
    return [variable.numpy() for variable in [*variables, *optimizer.variables]]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Adam", {}),
        ("Adam", {"amsgrad": True}),
        ("Adam", {"use_ema": True}),
        ("Adam", {"learning_rate": keras.optimizers.schedules.InverseTimeDecay(0.1, 1, 1.0)}),
        ("AdamW", {"weight_decay": 0.1}),
    ],
)
def test_updates_are_those_of_keras(name: str, settings: dict[str, Any]) -> None:
    settings = {**SETTINGS, **settings}
    ours, theirs = (updated(getattr(module, name)(**settings)) for module in (optimizers, keras.optimizers))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def test_loss_scaling_wraps_it() -> None:
    scaled = [
        keras.optimizers.LossScaleOptimizer(module.Adam(**SETTINGS), initial_scale=8.0)
        for module in (optimizers, keras.optimizers)
    ]
    for one, other in zip(*map(updated, scaled), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def test_a_sparse_gradient_is_the_dense_one() -> None:
    results = []
    for sparse in (False, True):
        variable = keras.Variable(np.ones((5, 3)), dtype="float32")
        optimizer = optimizers.Adam(0.1)
        optimizer.build([variable])
        gradient: Any = tf.IndexedSlices(tf.ones((2, 3)), tf.constant([1, 1]), tf.constant([5, 3]))
        optimizer.apply([gradient if sparse else tf.convert_to_tensor(gradient)], [variable])
        results.append(variable.numpy())
    np.testing.assert_array_equal(*results)
    assert results[0][0, 0] == 1.0 and results[0][1, 0] < 1.0


def test_config_rebuilds() -> None:
    optimizer = optimizers.AdamW(weight_decay=0.1, **SETTINGS)
    config = json.loads(json.dumps(keras.optimizers.serialize(optimizer)))
    again = keras.optimizers.deserialize(config)
    assert type(again) is optimizers.AdamW and again.get_config() == optimizer.get_config()


TWO_DEVICES = """
import json, keras, numpy as np, tensorflow as tf
from tf_transformer.optimizers import Adam

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

def train(strategy):
    with strategy.scope():
        variable = keras.Variable(np.ones((5, 3), "float32"))
        optimizer = Adam(0.1)
        optimizer.build([variable])
    apply = lambda gradient: optimizer.apply([2.0 * gradient], [variable])
    update = tf.function(lambda gradient: strategy.run(apply, args=(gradient,)))
    for count in range(5):
        # Replicas sum their gradients.
        gradient = np.arange(15.0).reshape(5, 3) * (count - 1) / strategy.num_replicas_in_sync
        update(tf.constant(gradient, tf.float32))
    return variable.numpy().tolist()

strategies = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
print(json.dumps([train(strategy) for strategy in strategies]))
"""


def test_two_devices_are_one() -> None:
    answer = subprocess.run([sys.executable, "-c", TWO_DEVICES], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    one, two = json.loads(answer.stdout.splitlines()[-1])
    np.testing.assert_allclose(one, two, rtol=1e-6)
