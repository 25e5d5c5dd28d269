"""The loss in Keras' own training: real tokens alone, whole batches, every precision, two replicas."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.losses import MaskedCrossEntropy, smoothed_cross_entropy

VOCABULARY = 5
# Logits that give the first class 1/2 and the others 1/8: every real token costs log 8.
UNIFORM = np.tile(np.log([0.5, 0.125, 0.125, 0.125, 0.125]).astype("float32"), (2, 4, 1))
LABELS = np.array([[4, 0, 0, 0], [4, 4, 4, 4]], "int32")


def small_model(dtype=None):
    """Ids to logits by an embedding alone, with weights that are no constants."""
    table = np.sin(np.arange(VOCABULARY * VOCABULARY)).reshape(VOCABULARY, VOCABULARY)
    inputs = keras.Input((None,), dtype="int32")
    layer = keras.layers.Embedding(
        VOCABULARY, VOCABULARY, embeddings_initializer=keras.initializers.Constant(table), dtype=dtype
    )
    return keras.Model(inputs, layer(inputs))


def test_sum_over_real_tokens_by_their_number():
    assert float(MaskedCrossEntropy()(LABELS, UNIFORM)) == pytest.approx(np.log(8.0), abs=1e-6)
    # Smoothing puts 0.1 / 4 on each of four classes that all have probability 1/8: nothing changes.
    assert float(MaskedCrossEntropy(0.1)(LABELS, UNIFORM)) == pytest.approx(np.log(8.0), abs=1e-6)
    assert float(MaskedCrossEntropy(ignore_id=4)(LABELS, UNIFORM)) == pytest.approx(np.log(2.0), abs=1e-6)


def test_batch_of_padding_alone_is_zero_and_changes_nothing():
    model = small_model()
    model.compile(keras.optimizers.SGD(1.0), MaskedCrossEntropy(0.1))
    before = model.get_weights()[0]
    assert model.train_on_batch(np.ones((2, 3), "int32"), np.zeros((2, 3), "int32")) == 0.0
    np.testing.assert_array_equal(model.get_weights()[0], before)


def test_labels_that_keras_cast_to_float_are_exact():
    class Seen(MaskedCrossEntropy):
        def call(self, y_true, y_pred):
            assert y_true.dtype == tf.float32
            return super().call(y_true, y_pred)

    last = 3000
    logits = np.full((1, 1, last + 1), -3.0, "float32")
    logits[..., 2909] = 20.0  # 2908 in float16
    assert float(Seen()(np.array([[2909]]), logits)) == pytest.approx(0.0, abs=1e-5)
    with pytest.raises(ValueError, match=r"`y_pred` must have at most 16777216 classes.*Received: 16777217"):
        MaskedCrossEntropy().call(tf.zeros((0, 1)), tf.zeros((0, 1, 2**24 + 1)))


def test_mask_left_on_the_logits_is_not_applied_again():
    logits = tf.constant(UNIFORM)
    logits._keras_mask = tf.constant(LABELS != 0)
    assert float(MaskedCrossEntropy()(LABELS, logits)) == pytest.approx(np.log(8.0), abs=1e-6)


def test_sample_weights_scale_and_do_not_divide():
    loss = MaskedCrossEntropy()(LABELS, UNIFORM, sample_weight=np.array([[3.0], [1.0]]))
    assert float(loss) == pytest.approx(np.log(8.0) * (3.0 + 4.0) / 5.0, abs=1e-6)


def test_a_weight_of_a_sentence_is_that_of_its_tokens():
    # As many sentences as positions, so that weights of positions would pass as well. The labels cost log 8,
    # but the first one of the second sentence log 2; the second one there is padding.
    logits, labels, weights = UNIFORM[:, :2], np.array([[4, 4], [0, 3]]), np.array([2.0, 5.0])
    by_hand = (2.0 * (np.log(8.0) + np.log(8.0)) + 5.0 * np.log(8.0)) / 3.0
    for given in (weights, weights[:, None], np.array([[2.0, 2.0], [7.0, 5.0]])):
        loss = MaskedCrossEntropy()(labels, logits, sample_weight=given)
        assert float(loss) == pytest.approx(by_hand, abs=1e-6)
    assert float(MaskedCrossEntropy()(labels, logits, sample_weight=2.0)) == pytest.approx(2.0 * np.log(8.0))
    model = keras.Sequential([keras.layers.Identity()])
    model.compile(loss=MaskedCrossEntropy())
    assert model.evaluate(logits, labels, sample_weight=weights, verbose=0) == pytest.approx(by_hand)


@pytest.mark.parametrize("shape", [(4,), (1,), (2, 3), (1, 4), (2, 4, 1)])
def test_other_weights_are_refused(shape):
    message = r"`sample_weight` must be one weight a token or one a sentence.*\(2, 4\).*Received: shape \("
    with pytest.raises(ValueError, match=message):
        MaskedCrossEntropy()(LABELS, UNIFORM, sample_weight=np.ones(shape))


@pytest.mark.parametrize("wrong", [-1, 5, 1.5])
def test_labels_outside_the_vocabulary_are_refused(wrong):
    labels = LABELS.astype("float32")
    labels[1, 2] = wrong
    with pytest.raises(ValueError, match=rf"`y_true` must be whole .* vocabulary, 5\. Received: {wrong}"):
        MaskedCrossEntropy()(labels, UNIFORM)
    labels[1, 2] = -100  # unless that is what padding is called
    labels[LABELS == 0] = -100
    assert float(MaskedCrossEntropy(ignore_id=-100)(labels, UNIFORM)) == pytest.approx(np.log(8.0), abs=1e-6)


@pytest.mark.parametrize("shape", [(4, 2), (1, 4), (2, 1), (8,), (2, 4, 1)])
def test_labels_of_another_shape_are_refused(shape):
    message = r"`y_true` and the positions of `y_pred` must have the same sizes\. Received: .* and \(2, 4\)"
    with pytest.raises(ValueError, match=message):
        MaskedCrossEntropy()(np.ones(shape, "int32"), UNIFORM)


def test_fit_gives_the_gradient_of_the_token_mean():
    model = small_model()
    table = tf.Variable(model.get_weights()[0])
    inputs, labels = np.array([[1, 2, 3], [4, 1, 1]]), np.array([[2, 3, 0], [4, 0, 0]])
    with tf.GradientTape() as tape:
        values = smoothed_cross_entropy(labels, tf.gather(table, inputs), 0.1)
        by_hand = tf.reduce_sum(values) / 3.0
    expected = table - 0.5 * tf.convert_to_tensor(tape.gradient(by_hand, table))
    model.compile(keras.optimizers.SGD(0.5), MaskedCrossEntropy(0.1))
    history = model.fit(inputs, labels, batch_size=2, verbose=0, shuffle=False).history
    assert history["loss"][0] == pytest.approx(float(by_hand), abs=1e-6)
    np.testing.assert_allclose(model.get_weights()[0], expected, atol=1e-6)


def test_half_precision_with_loss_scaling():
    model = small_model(dtype=keras.DTypePolicy("mixed_float16"))
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.5), initial_scale=2.0**10)
    model.compile(optimizer, MaskedCrossEntropy(0.1))
    exact = small_model()
    exact.compile(keras.optimizers.SGD(0.5), MaskedCrossEntropy(0.1))
    batch = np.array([[1, 2, 3], [4, 1, 1]]), np.array([[2, 3, 0], [4, 0, 0]])
    assert model.train_on_batch(*batch) == pytest.approx(exact.train_on_batch(*batch), abs=1e-3)
    np.testing.assert_allclose(model.get_weights()[0], exact.get_weights()[0], atol=1e-3)


def test_config_round_trip():
    loss = MaskedCrossEntropy(label_smoothing=0.1, ignore_id=3, name="other")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert isinstance(again, MaskedCrossEntropy)
    assert again.get_config() == {"name": "other", "label_smoothing": 0.1, "ignore_id": 3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label_smoothing": -0.1}, r"`label_smoothing` must be a finite .* at least 0\. Received: -0\.1"),
        ({"label_smoothing": 1.0}, r"`label_smoothing` must be less than 1\. Received: 1\.0"),
        ({"label_smoothing": "0.1"}, r"`label_smoothing` must be a finite .*Received: '0\.1'"),
        ({"ignore_id": None}, r"`ignore_id` must be a whole number\. Received: None"),
        ({"ignore_id": 0.5}, r"`ignore_id` must be a whole number\. Received: 0\.5"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MaskedCrossEntropy(**arguments)


IN_A_PROCESS = """
import json, resource, sys
import keras, numpy as np, tensorflow as tf
from tf_transformer.losses import MaskedCrossEntropy, smoothed_cross_entropy
from tf_transformer.ops.consistency import consistent_cross_entropy

devices = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(devices[0], [tf.config.LogicalDeviceConfiguration()] * 2)

@tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None, 32000])])
def step(labels, logits):
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.reduce_sum(smoothed_cross_entropy(tf.cast(labels, tf.int32), logits, 0.1))
    return tape.gradient(loss, logits)

@tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None, 8])])
def step_of_two(labels, states):
    with tf.GradientTape() as tape:
        tape.watch(states)
        values = consistent_cross_entropy(tf.cast(labels, tf.int32), states, tf.ones([32000, 8]), 5.0, 0.1)
    return tape.gradient(values, states)

def memory():
    # Of the loss and of R-Drop's, in tensors of their logits: those of one pass, and those of two.
    step(tf.ones([3]), tf.ones([3, 32000]))
    step_of_two(tf.ones([3]), tf.ones([6, 8]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(tf.ones([509]), tf.ones([509, 32000]))
    one = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    step_of_two(tf.ones([509]), tf.ones([1018, 8]))
    two = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return [one * 1024 / (509 * 32000 * 4), two * 1024 / (1018 * 32000 * 4)]

def train(strategy):
    inputs = np.array([[1, 2, 3], [1, 4, 2], [2, 2, 4], [3, 1, 1], [4, 3, 2]])
    labels = np.array([[2, 3, 4], [1, 4, 3], [2, 0, 0], [0, 0, 0], [4, 1, 0]])  # 7 real tokens; then 2
    with strategy.scope():
        start = np.sin(np.arange(25.0)).reshape(5, 5)
        table = keras.layers.Embedding(5, 5, embeddings_initializer=keras.initializers.Constant(start))
        model = keras.Sequential([table])
        model.compile(keras.optimizers.SGD(0.5), MaskedCrossEntropy(0.1))
    batches = tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(4)
    losses = model.fit(batches, epochs=2, verbose=0).history["loss"]
    return losses + [model.evaluate(batches, verbose=0)], model.get_weights()[0].tolist()

result = {"memory": memory(), "one": train(tf.distribute.get_strategy())}
result["two"] = train(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def process():
    answer = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_two_replicas_follow_one_device(process):
    # The first replica gets 6 real tokens of the first batch and the second 1; of the second batch, which
    # is smaller than the number of replicas, the second replica gets nothing.
    (losses, weights), (mirrored_losses, mirrored_weights) = process["one"], process["two"]
    assert np.isfinite(losses).all() and losses[0] > losses[1] > 0.5
    np.testing.assert_allclose(mirrored_losses, losses, atol=1e-5)
    np.testing.assert_allclose(mirrored_weights, weights, atol=1e-5)


def test_memory_is_that_of_a_few_logits(process):
    # Logits, probabilities and gradient make 3; a one-hot target makes 4.1, plain differentiation 6.3.
    assert process["memory"][0] < 3.5
    assert process["memory"][1] < 3.5


ON_ANY_BACKEND = """
import keras, numpy as np
from tf_transformer.losses import MaskedCrossEntropy
from tf_transformer.metrics import MaskedAccuracy, Perplexity
from tf_transformer.schedules import WarmupInverseSqrt

start = keras.initializers.Constant(np.sin(np.arange(25.0)).reshape(5, 5))
model = keras.Sequential([keras.layers.Embedding(5, 5, embeddings_initializer=start)])
optimizer = keras.optimizers.SGD(WarmupInverseSqrt(peak=0.5, warmup_steps=2))
model.compile(optimizer, MaskedCrossEntropy(0.1), metrics=[MaskedAccuracy(), Perplexity()])
inputs, labels = np.array([[1, 2, 3], [4, 1, 1]]), np.array([[2, 3, 0], [4, 0, 0]])
logs = model.fit(inputs, labels, batch_size=2, epochs=3, verbose=0, shuffle=False).history
weights = model.get_weights()[0].tolist()
"""
WITHOUT_TENSORFLOW = "import json, sys\nsys.modules['tensorflow'] = None"
PRINTED = "print(json.dumps([keras.config.backend(), logs, weights]))"


def test_training_is_the_same_on_jax_without_tensorflow():
    answer = subprocess.run(
        [sys.executable, "-c", "\n".join((WITHOUT_TENSORFLOW, ON_ANY_BACKEND, PRINTED))],
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    backend, logs, weights = json.loads(answer.stdout)
    assert backend == "jax"
    here = {}
    exec(ON_ANY_BACKEND, here)
    np.testing.assert_allclose(weights, here["weights"], atol=1e-5)
    assert len(logs) == 3
    for name, values in logs.items():
        np.testing.assert_allclose(values, here["logs"][name], rtol=1e-5)
