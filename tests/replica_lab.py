"""Two devices of one CPU beside one device, in a process of its own: they are made when TensorFlow starts.

    python tests/replica_lab.py

Prints what it has found as JSON, for ``tests/test_replicas.py``. Where ``TF_CONFIG`` names hosts, each of
them trains with the others instead, and prints what came of it.
"""

import json
import os
from collections.abc import Callable
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf

from tf_transformer.cluster import Cluster, find_cluster, meet
from tf_transformer.devices import Devices, open_devices
from tf_transformer.evaluation.teacher_forced import TeacherForced
from tf_transformer.layers.dropout import Dropout
from tf_transformer.losses import smoothed_cross_entropy
from tf_transformer.models import Transformer
from tf_transformer.optimizers import Adam
from tf_transformer.replicas import OnDevices, Shares, draw_apart, replica_number
from tf_transformer.tasks import Translator, translation_answers
from tf_transformer.text import Preprocessor
from tf_transformer.training_step import TrainingModel

LONG, SHORT = [5, 7, 11, 12, 8, 9, 3], [6, 3, 0, 0, 0, 0, 0]


class Toy(keras.Model):
    """The same logits everywhere: its only weight, one number a class."""

    COUNTS = Transformer.COUNTS
    source_inputs = Transformer.source_inputs
    counts = Transformer.counts

    def __init__(self, dropout: float = 0.0, slope: float = 1.0) -> None:
        super().__init__()
        self.logits = self.add_weight(name="logits", shape=(13,), initializer="zeros")
        self.dropout = Dropout(dropout, seed=3, name="dropout")
        self.dropout.build()
        self.slope = slope
        self.built = True

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        shape = tf.concat([tf.shape(inputs["target_ids"]), [13]], 0)
        logits = tf.broadcast_to(self.slope * tf.convert_to_tensor(self.logits), shape)
        return self.dropout(logits, training=training)

    def training_loss(self, inputs: Any, labels: Any, label_smoothing: float, training: bool) -> tf.Tensor:
        return smoothed_cross_entropy(labels, self(inputs, training=training), label_smoothing)


def batch(labels: list[list[int]]) -> tuple[dict[str, Any], Any]:
    ids = np.array(labels, np.int32)
    targets = np.concatenate([np.full((len(ids), 1), 2, np.int32), ids[:, :-1]], axis=1)
    return {"source_ids": ids, "target_ids": targets}, ids


FIVE = [batch([LONG, SHORT, SHORT, LONG]), batch([SHORT])]
"""The second batch leaves one of two devices idle."""


class Losses(keras.callbacks.Callback):
    """What each update says."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.found.append(float(logs["loss"]) if int(logs["taken"]) else -1.0)


def fed(batches: list[Any], devices: Devices) -> Any:
    """Batches again and again, each device its rows."""
    ids = tf.TensorSpec([None, None], tf.int32)

    def make(shares: Shares) -> tf.data.Dataset:
        def parts() -> Any:
            while True:
                for whole in batches:
                    for at in shares.numbers:
                        yield tf.nest.map_structure(lambda one, at=at: one[at :: shares.count], whole)

        spec = ({"source_ids": ids, "target_ids": ids}, ids)
        return tf.data.Dataset.from_generator(parts, output_signature=spec)

    return devices.feed(make)


def transformer(kind: Any = Transformer) -> Any:
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 16, "num_heads": 2, "seed": 3}
    return kind(vocabulary_size=13, dropout=0.0, tie_embeddings="none", **sizes)


def made(
    devices: Devices, kind: Callable[[], Any] = Toy, scale: float | None = None, **options: Any
) -> TrainingModel:
    with devices.scope():
        model = kind()
        trained = TrainingModel(model, 0.1, **options)
        optimizer: Any = Adam(0.01, global_clipnorm=0.1)
        if scale is not None:
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=scale)
        trained.compile(optimizer=optimizer)
        optimizer.build(model.trainable_variables)
    return trained


def trained(devices: Devices, batches: list[Any], updates: int, **options: Any) -> dict[str, Any]:
    model, losses = made(devices, **options), Losses()
    draw_apart(model.model)
    data = fed(batches, devices)
    model.fit(data, steps_per_epoch=updates, verbose=0, shuffle=False, callbacks=[losses])
    weights = np.concatenate([weight.numpy().reshape(-1) for weight in model.model.trainable_variables])
    answering = np.concatenate([weight.numpy().reshape(-1) for weight in model.answering.weights])
    return {
        "losses": losses.found,
        "weights": weights.tolist(),
        "answering": answering.tolist(),
        "interval": model.interval(),
        "updates": int(model.optimizer.iterations.numpy()),
        "scale": float(model.optimizer.dynamic_scale.numpy()) if options.get("scale") else 0.0,
    }


def seeds(devices: Devices) -> list[list[int]]:
    """The seeds of one dropout on each device after an update of one row, in three pieces."""
    model = made(devices, lambda: Toy(dropout=0.3), micro_batch=7)
    draw_apart(model.model)
    data = fed([batch([LONG] * 5)], devices)
    model.fit(data, steps_per_epoch=1, verbose=0, shuffle=False)
    state = next(one for one in model.model.variables if one.path.endswith("seed_generator_state"))
    return [one.numpy().tolist() for one in devices.strategy.experimental_local_results(state.value)]


def evaluated(devices: Devices) -> list[float]:
    """Sums over three batches of other shapes."""
    model = made(devices).model
    found = TeacherForced(model, 0.1).totals(batch(rows) for rows in ([LONG] * 3, [SHORT[:3]], [LONG, SHORT]))
    return [found.tokens, found.smoothed, found.nats, found.hits]


def mapped(devices: Devices) -> list[list[int]]:
    model = made(devices)
    double = OnDevices(lambda row: 2 * row, model.model, [tf.TensorSpec([None], tf.int32)])
    return [row.numpy().tolist() for row in double.map((tf.range(size),) for size in (3, 1, 4, 0, 2))]


class Noting(Transformer):
    """Notes which devices it searches on."""

    on: set[int]

    def step(self, ids: tf.Tensor, cache: Any) -> Any:
        self.on.add(replica_number())
        return super().step(ids, cache)


def searched(devices: Devices) -> dict[str, Any]:
    """What two beams and a prefix find for sentences in five batches, and which devices looked for it."""
    letters = "a b c d e f g h i"
    words = Preprocessor.train([letters], [letters], tokenizer="words")
    with devices.scope():
        model = transformer(Noting)
    model.on = set()
    task = Translator(model, words, beam_size=2, max_length_margin=3)
    translation_answers.PIECES_AT_ONCE = 2
    texts = ["a b c d e f", "", "d c", "i h g f", "a", "b d"]
    found = task.n_best(texts, prefix=["a", "", "", "g", "", "h"])
    answers = [[(one.text, one.score) for one in hypotheses] for hypotheses in found]
    return {"answers": answers, "on": sorted(model.on)}


def joined(cluster: Cluster) -> dict[str, Any]:
    """What one of several hosts finds."""
    meet(cluster, {}, print)
    hosts = open_devices("auto", cluster)
    found = trained(hosts, FIVE, 4, ema=0.5)
    value = tf.Variable([1.0 + cluster.index, 2.0])
    hosts.copy_from_chief([value])
    told = hosts.from_chief({"text": "ä", "number": 0.1} if hosts.is_chief else None)
    return {**found, "described": hosts.describe(), "told": told, "copied": value.numpy().tolist()}


def main() -> None:
    """Finds out."""
    cluster = find_cluster(os.environ)
    if cluster is not None:
        print(json.dumps(joined(cluster)))
        return
    two, one = open_devices("cpu:2"), open_devices("auto")
    uneven = [batch([LONG, SHORT, LONG, SHORT])]  # every second row: the first device has all that is long
    bad = [batch([SHORT]), batch([[0] * 7, [0] * 7]), batch([LONG])]
    found: dict[str, Any] = {"described": [two.describe(), one.describe()], "seeds": [seeds(two), seeds(one)]}
    for name, batches, updates, options in (
        ("uneven", uneven, 3, {}),
        ("idle", FIVE, 4, {"ema": 0.5}),
        ("pieces", FIVE, 4, {"kind": transformer, "micro_batch": 7}),
        # 2^127 times a slope of 99 is more than float32 holds.
        ("scaled", bad, 9, {"kind": lambda: Toy(slope=99.0), "scale": 2.0**127}),
    ):
        found[name] = [trained(devices, batches, updates, **options) for devices in (one, two)]
    found["evaluated"] = [evaluated(devices) for devices in (one, two)]
    found["searched"] = [searched(devices) for devices in (one, two)]
    found["mapped"] = [mapped(devices) for devices in (one, two)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
