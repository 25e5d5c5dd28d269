"""The projection to the vocabulary with its cross-entropy: against the two apart, gradients included."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.ops.cross_entropy import smoothed_cross_entropy
from tf_transformer.ops.projected_cross_entropy import projected_cross_entropy

RNG = np.random.default_rng(13)
LABELS = np.array([[3, 6, 0], [1, 0, 0], [0, 0, 0], [5, 5, 2], [4, 1, 6]], "int32")  # [B=5, T=3]
STATES = RNG.normal(size=(5, 3, 11)).astype("float32")
TABLE = RNG.normal(size=(7, 11)).astype("float32")
WEIGHTS = np.linspace(-1.0, 2.0, LABELS.size, dtype="float32").reshape(LABELS.shape)


def apart(
    labels: Any, states: tf.Tensor, table: tf.Tensor, *options: Any, weights: Any = WEIGHTS
) -> tf.Tensor:
    kernel = tf.cast(tf.convert_to_tensor(table), states.dtype)
    logits = tf.cast(tf.einsum("...d,vd->...v", states, kernel), tf.float32)
    return tf.reduce_sum(smoothed_cross_entropy(labels, logits, *options) * weights)


def value_and_gradients(
    function: Any, labels: Any, states: Any = STATES, options: Any = (0.1,), **more: Any
) -> list[np.ndarray]:
    states, table = tf.convert_to_tensor(states), tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        tape.watch(states)
        value = function(labels, states, table, *options, **{"weights": WEIGHTS, **more})
        scaled = 3.0 * value  # what comes after the loss must reach its gradients
    gradients = tape.gradient(scaled, [states, table])
    assert gradients[0].dtype == states.dtype and gradients[1].dtype == tf.float32
    return [tf.cast(tensor, tf.float32).numpy() for tensor in (value, *gradients)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("ignore_id", [0, 5, -100, None])
@pytest.mark.parametrize("chunk", [None, 4])
def test_equals_the_two_apart(smoothing: float, ignore_id: int | None, chunk: int | None) -> None:
    labels = LABELS
    if ignore_id is not None:
        labels = np.where(LABELS == 0, ignore_id, np.where(ignore_id == LABELS, 1, LABELS))
    options = (smoothing, ignore_id)
    ours = value_and_gradients(projected_cross_entropy, labels, options=options, chunk=chunk)
    for one, other in zip(ours, value_and_gradients(apart, labels, options=options), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_golden_by_hand() -> None:
    # The table is the identity times the state 1, so the logits are the table's column: probabilities
    # 1/10, 2/10, 3/10, 4/10, label 2, and a share of smoothing of 0.3 / 3 = 0.1 on the classes 1, 2, 3.
    table = tf.Variable(np.log([[0.1], [0.2], [0.3], [0.4]]), dtype=tf.float32)
    state = tf.ones((1, 1))
    with tf.GradientTape() as tape:
        tape.watch(state)
        value = projected_cross_entropy(np.array([2]), state, table, 0.3)
    by_state, by_table = tape.gradient(value, [state, table])
    np.testing.assert_allclose(value, 1.21576, atol=1e-5)
    by_logits = np.array([0.1, 0.1, -0.5, 0.3])  # softmax - target
    np.testing.assert_allclose(by_table[:, 0], by_logits, atol=1e-6)
    np.testing.assert_allclose(by_state[0, 0], by_logits @ np.log([0.1, 0.2, 0.3, 0.4]), atol=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 4e-3), ("bfloat16", 4e-2)])
@pytest.mark.parametrize("chunk", [None, 4])
def test_half_precision_stays_near_float32(dtype: str, tolerance: float, chunk: int | None) -> None:
    ours = value_and_gradients(projected_cross_entropy, LABELS, tf.cast(STATES, dtype), chunk=chunk)
    for one, other in zip(ours, value_and_gradients(apart, LABELS), strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance * np.abs(other).max())


def test_underflowing_probabilities_stay_exact() -> None:
    # The label of one position is 300 nats below another class: its probability is 0 in float32.
    states, labels = np.array([[300.0], [1.0]], "float32"), np.array([1, 2])
    table = tf.Variable([[0.0], [-1.0], [0.5]])
    value = projected_cross_entropy(labels, states, table)
    expected = 450.0 - np.log(np.exp(0.5) / (1 + np.exp(-1) + np.exp(0.5)))
    np.testing.assert_allclose(value, expected, rtol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_what_is_not_finite_is_not_hidden(bad: float) -> None:
    states = STATES.copy()
    states[3, 1, 0] = bad
    assert not np.isfinite(projected_cross_entropy(LABELS, states, TABLE, 0.1))


@pytest.mark.parametrize("chunk", [None, 4])
def test_padding_has_no_loss_and_no_gradient(chunk: int | None) -> None:
    ours = value_and_gradients(projected_cross_entropy, LABELS, chunk=chunk)
    moved = np.where((LABELS == 0)[..., None], 5.0 * STATES, STATES)
    for one, other in zip(
        ours, value_and_gradients(projected_cross_entropy, LABELS, moved, chunk=chunk), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert (ours[1][LABELS == 0] == 0.0).all() and (ours[1][LABELS != 0] != 0.0).any(-1).all()


@pytest.mark.parametrize("chunk", [None, 4, 15, 100])
def test_dynamic_shapes_in_a_graph_and_xla(chunk: int | None) -> None:
    def gradients(labels: tf.Tensor, states: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(states)
            value = projected_cross_entropy(labels, states, tf.constant(TABLE), 0.1, chunk=chunk)
        return value, tape.gradient(value, states)

    signature = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None, 11], tf.float32)]
    in_graph = tf.function(gradients, input_signature=signature)
    compiled = tf.function(gradients, jit_compile=True)
    expected = gradients(tf.constant(LABELS), tf.constant(STATES))
    for function in (in_graph, compiled):
        for one, other in zip(function(LABELS, STATES), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    value, gradient = in_graph(LABELS[:0], STATES[:0])
    assert value == 0.0 and gradient.shape == (0, 3, 11)


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match=r"`labels` must be integer ids\. Received: dtype float32"):
        projected_cross_entropy(LABELS.astype("float32"), STATES, TABLE)
    with pytest.raises(ValueError, match=r"`states` must have one axis more .* shape \(3, 11\)"):
        projected_cross_entropy(LABELS, STATES[0], TABLE)


MEMORY = """
import resource
import tensorflow as tf
from tf_transformer.ops.projected_cross_entropy import projected_cross_entropy

def memory(chunk):
    table = tf.Variable(tf.ones([32000, 4]))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, 4])])
    def step(labels, states):
        with tf.GradientTape() as tape:
            tape.watch(states)
            loss = projected_cross_entropy(labels, states, table, 0.1, chunk=chunk)
        return tape.gradient(loss, [states, table])

    step(tf.ones([3], tf.int32), tf.ones([3, 4]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(tf.ones([1021], tf.int32), tf.ones([1021, 4]))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (1021 * 32000 * 4)

print(memory(64), memory(None))
"""


def test_memory_in_units_of_the_float32_logits() -> None:
    answer = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    in_chunks, whole = map(float, answer.stdout.split())
    # Of a chunk of 64 it is 64 / 1021 = 0.06, a few times over; of all, logits, probabilities and gradient.
    assert in_chunks < 1.0 and whole < 3.0
