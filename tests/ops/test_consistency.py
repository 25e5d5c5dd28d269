"""R-Drop's loss: by hand, against the formula written out, and what agreement and padding come to."""

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.ops.consistency import consistent_cross_entropy
from tf_transformer.ops.cross_entropy import smoothed_cross_entropy
from tf_transformer.ops.projected_cross_entropy import projected_cross_entropy

RNG = np.random.default_rng(17)
LABELS = np.array([[3, 6, 0], [1, 0, 0], [0, 0, 0], [5, 5, 2], [4, 1, 6]], "int32")  # [B=5, T=3]
STATES = RNG.normal(size=(10, 3, 11)).astype("float32")
TABLE = RNG.normal(size=(7, 11)).astype("float32")
WEIGHTS = np.linspace(-1.0, 2.0, LABELS.size, dtype="float32").reshape(LABELS.shape)


def written_out(
    labels: Any, states: tf.Tensor, table: Any, weight: float, smoothing: float = 0.0, ignore_id: int = 0
) -> tf.Tensor:
    """The paper's terms one by one, for TensorFlow to differentiate."""
    logits = tf.cast(tf.einsum("...d,vd->...v", states, tf.cast(table, states.dtype)), tf.float32)
    first, second = tf.split(logits, 2)
    log_first, log_second = tf.nn.log_softmax(first), tf.nn.log_softmax(second)
    forwards = tf.reduce_sum(tf.exp(log_first) * (log_first - log_second), -1)
    backwards = tf.reduce_sum(tf.exp(log_second) * (log_second - log_first), -1)
    entropies = [smoothed_cross_entropy(labels, part, smoothing, ignore_id) for part in (first, second)]
    real = tf.cast(tf.not_equal(labels, ignore_id), tf.float32)
    values = sum(entropies) / 2 + weight / 2 * (forwards + backwards) / 2 * real
    return tf.reduce_sum(values * WEIGHTS)


def value_and_gradients(function: Any, *options: Any, states: Any = STATES, **more: Any) -> list[np.ndarray]:
    states, table = tf.convert_to_tensor(states), tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        tape.watch(states)
        value = function(LABELS, states, table, *options, **more)
        scaled = 3.0 * value  # what comes after the loss must reach its gradients
    gradients = tape.gradient(scaled, [states, table])
    assert gradients[0].dtype == states.dtype and gradients[1].dtype == tf.float32
    return [tf.cast(tensor, tf.float32).numpy() for tensor in (value, *gradients)]


def ours(*options: Any, **more: Any) -> list[np.ndarray]:
    return value_and_gradients(consistent_cross_entropy, *options, weights=WEIGHTS, **more)


@pytest.mark.parametrize("options", [(5.0,), (0.3, 0.1), (2.0, 0.7), (1.0, 0.1, 5), (1.0, 0.1, -100)])
@pytest.mark.parametrize("chunk", [None, 4])
def test_equals_the_formula_written_out(options: tuple[float, ...], chunk: int | None) -> None:
    expected = value_and_gradients(written_out, *options)
    for one, other in zip(ours(*options, chunk=chunk), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-5)


def test_golden_by_hand() -> None:
    # The state 1 makes the table's column the logits. P1 = (1/2, 1/2) needs the table 0, P2 = (1/4, 3/4)
    # the table (0, ln 3): states 0 and 1. KL(P1 || P2) = ln(4/3) / 2, KL(P2 || P1) = 3/4 ln 3 - ln 2.
    table = tf.constant([[0.0], [math.log(3)]])
    states = tf.constant([[0.0], [1.0]])
    with tf.GradientTape() as tape:
        tape.watch(states)
        value = consistent_cross_entropy(np.array([1]), states, table, 5.0, ignore_id=None)
    entropy = (math.log(2) + math.log(4 / 3)) / 2
    divergence = math.log(4 / 3) / 2 + 0.75 * math.log(3) - math.log(2)
    np.testing.assert_allclose(value, entropy + 5 / 4 * divergence, rtol=1e-6)
    # By the logit of class 1, whose probability changes by p (1 - p): the sum of both divergences is
    # (P2 - P1)(z2 - z1), so it moves by P2 - P1 + P2 (1 - P2) (z2 - z1) in z2; the entropy by P2 - 1.
    gap = math.log(3)
    by_logits = np.array([-0.5 / 2 - 5 / 4 * (0.25 + 0.25 * gap), -0.25 / 2 + 5 / 4 * (0.25 + 3 / 16 * gap)])
    np.testing.assert_allclose(tape.gradient(value, states)[:, 0], by_logits * gap, rtol=1e-6)


def test_passes_that_agree_give_the_loss_of_one() -> None:
    same = np.concatenate([STATES[:5], STATES[:5]])
    value, by_states, by_table = ours(5.0, 0.1, states=same)
    single, by_one, by_its_table = value_and_gradients(
        projected_cross_entropy, 0.1, states=STATES[:5], weights=WEIGHTS
    )
    np.testing.assert_allclose(value, single, rtol=1e-6)
    np.testing.assert_allclose(by_states[:5] + by_states[5:], by_one, atol=1e-5)
    np.testing.assert_array_equal(by_states[:5], by_states[5:])
    np.testing.assert_allclose(by_table, by_its_table, atol=1e-5)


def test_padding_has_no_loss_and_no_gradient() -> None:
    moved = STATES.copy()
    moved[np.concatenate([LABELS, LABELS]) == 0] *= 3.0
    found = ours(5.0, 0.1)
    for one, other in zip(found, ours(5.0, 0.1, states=moved), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (found[1][np.concatenate([LABELS, LABELS]) == 0] == 0.0).all()


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 4e-3), ("bfloat16", 4e-2)])
def test_half_precision_stays_near_float32(dtype: str, tolerance: float) -> None:
    halved = tf.cast(STATES, dtype)
    exact = value_and_gradients(written_out, 5.0, 0.1, states=tf.cast(halved, tf.float32))
    for one, other in zip(ours(5.0, 0.1, states=halved), exact, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance * np.abs(other).max())


def test_a_far_label_stays_exact() -> None:
    # Both passes find the label 300 nats below another class: its probability is 0 in float32.
    table = tf.constant([[0.0], [-1.0], [0.5]])
    value = consistent_cross_entropy(np.array([1]), tf.constant([[300.0], [300.0]]), table, 5.0)
    np.testing.assert_allclose(value, 450.0, rtol=1e-6)


def test_dynamic_shapes_in_a_graph_and_xla() -> None:
    def gradients(labels: tf.Tensor, states: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(states)
            value = consistent_cross_entropy(labels, states, tf.constant(TABLE), 5.0, 0.1, chunk=4)
        return value, tape.gradient(value, states)

    signature = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None, 11], tf.float32)]
    expected = gradients(tf.constant(LABELS), tf.constant(STATES))
    in_graph = tf.function(gradients, input_signature=signature)
    for function in (in_graph, tf.function(gradients, jit_compile=True)):
        for one, other in zip(function(LABELS, STATES), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    value, gradient = in_graph(LABELS[:0], STATES[:0])
    assert value == 0.0 and gradient.shape == (0, 3, 11)


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan])
def test_wrong_arguments(weight: float) -> None:
    with pytest.raises(ValueError, match=rf"`weight` must be more than 0\. Received: {weight}"):
        consistent_cross_entropy(LABELS, STATES, TABLE, weight)
    with pytest.raises(ValueError, match=r"two rows for each of `labels`\. Received: 9 for 5"):
        consistent_cross_entropy(LABELS, STATES[1:], TABLE, 1.0)
    with pytest.raises(TypeError, match=r"`labels` must be integer ids\. Received: dtype float32"):
        consistent_cross_entropy(LABELS.astype("float32"), STATES, TABLE, 1.0)
