"""Four devices of one CPU under Keras' JAX backend, in a process of its own.

    KERAS_BACKEND=jax XLA_FLAGS=--xla_force_host_platform_device_count=4 python tests/layout_lab.py

Prints what it has found as JSON, for ``tests/models/test_layouts.py``.
"""

import json
from typing import Any

import keras
import numpy as np
from keras.distribution import DataParallel, DeviceMesh, ModelParallel

from tf_transformer.losses import MaskedCrossEntropy
from tf_transformer.models import Transformer, layout_map

SIZES = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 12, "num_heads": 4, "seed": 3}
UPDATES = 6


def rows(seed: int) -> np.ndarray[Any, Any]:
    """Eight rows of ids, of lengths from 2 to 7."""
    draw = np.random.default_rng(seed)
    ids = draw.integers(4, 16, (8, 7)).astype("int32")
    ids[np.arange(7) >= draw.integers(2, 8, 8)[:, None]] = 0
    return ids


def parallel(data: int, model: int) -> ModelParallel:
    mesh = DeviceMesh((data, model), ("batch", "model"))
    return ModelParallel(layout_map=layout_map(mesh), batch_dim_name="batch")


def held(variables: Any) -> float:
    """The part of some variables that the first device has."""
    parts = [variable.value.addressable_shards[0].data.size for variable in variables]
    return sum(parts) / sum(variable.value.size for variable in variables)


def trained(distribution: Any) -> dict[str, Any]:
    """The loss of each update of a training by `fit`, with dropout, and what a device has of the state."""
    keras.distribution.set_distribution(distribution)
    model = Transformer(16, dropout=0.1, activation="swiglu", **SIZES)
    optimizer = keras.optimizers.Adam(0.01, global_clipnorm=1.0)
    model.compile(optimizer, MaskedCrossEntropy(label_smoothing=0.1))
    targets = rows(2)
    inputs = {"source_ids": rows(1), "target_ids": targets}
    options = {"epochs": UPDATES, "batch_size": 8, "shuffle": False, "verbose": 0}
    losses = model.fit(inputs, targets, **options).history["loss"]
    moments = [one for one in optimizer.variables if "moment" in one.path or "velocity" in one.path]
    return {"losses": losses, "weights": held(model.trainable_variables), "moments": held(moments)}


def main() -> None:
    """Finds out."""
    found = {
        "one": trained(None),
        "data": trained(DataParallel()),
        "both": trained(parallel(2, 2)),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
