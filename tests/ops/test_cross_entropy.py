"""Cross-entropy against the one-hot formula in float64, its gradient included."""

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.ops.cross_entropy import smoothed_cross_entropy

VOCABULARY = 7
LABELS = np.array([[3, 6, 0], [1, 0, 0], [0, 0, 0], [5, 5, 2], [4, 1, 6]], "int32")  # [B=5, T=3]
LOGITS = np.random.default_rng(11).normal(size=(5, 3, VOCABULARY)) * 3.0


def one_hot_formula(labels, logits, smoothing, ignore_id=0):
    """The definition, written out: - sum of target * log softmax, in float64."""
    shifted = logits - logits.max(-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    is_class = np.ones(logits.shape[-1])
    if 0 <= ignore_id < logits.shape[-1]:
        is_class[ignore_id] = 0.0
    target = (1.0 - smoothing) * np.eye(logits.shape[-1])[np.maximum(labels, 0)]
    target = target + smoothing * is_class / is_class.sum()
    return -(target * log_probabilities).sum(-1) * (labels != ignore_id)


def finite_differences(function, point, width=1e-5):
    gradient = np.zeros_like(point)
    for index in np.ndindex(*point.shape):
        step = np.zeros_like(point)
        step[index] = width
        gradient[index] = (function(point + step) - function(point - step)) / (2.0 * width)
    return gradient


def value_and_gradient(labels, logits, smoothing, ignore_id=0):
    weights = np.linspace(-1.0, 2.0, labels.size, dtype="float32").reshape(labels.shape)
    variable = tf.constant(logits, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        values = smoothed_cross_entropy(labels, variable, smoothing, ignore_id)
        total = tf.reduce_sum(values * weights)
    return values.numpy(), tape.gradient(total, variable).numpy(), weights


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("ignore_id", [0, 5, -100])
def test_equals_the_one_hot_formula_and_its_gradient(smoothing, ignore_id):
    labels = np.where(LABELS == 0, ignore_id, np.where(ignore_id == LABELS, 1, LABELS))
    values, gradient, weights = value_and_gradient(labels, LOGITS, smoothing, ignore_id)
    np.testing.assert_allclose(values, one_hot_formula(labels, LOGITS, smoothing, ignore_id), atol=1e-5)
    expected = finite_differences(
        lambda logits: (one_hot_formula(labels, logits, smoothing, ignore_id) * weights).sum(), LOGITS
    )
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_golden_by_hand():
    # Probabilities 1/10, 2/10, 3/10, 4/10 and label 2; the share of smoothing is 0.3 / 3 = 0.1 on 1, 2, 3:
    # -(0.1 log 0.2 + (0.7 + 0.1) log 0.3 + 0.1 log 0.4); the gradient is softmax - target.
    logits = np.log(np.array([[0.1, 0.2, 0.3, 0.4]]))
    values, gradient, _ = value_and_gradient(np.array([2]), logits, 0.3)
    np.testing.assert_allclose(values, [1.21576], atol=1e-5)
    np.testing.assert_allclose(gradient, -np.array([[0.1, 0.1, -0.5, 0.3]]), atol=1e-6)  # weight -1


def test_padding_has_no_loss_and_no_gradient():
    values, gradient, _ = value_and_gradient(LABELS, LOGITS, 0.1)
    assert (values[LABELS == 0] == 0.0).all() and (values[LABELS != 0] > 0.0).all()
    assert (gradient[LABELS == 0] == 0.0).all() and (gradient[LABELS != 0] != 0.0).any(-1).all()


def test_every_position_may_count():
    values = smoothed_cross_entropy(LABELS, LOGITS, 0.3, ignore_id=None)
    np.testing.assert_allclose(values, one_hot_formula(LABELS, LOGITS, 0.3, ignore_id=-1), atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_far_apart_logits_stay_exact(smoothing):
    logits = np.array([[0.0, -200.0, 150.0], [3e4, 0.0, 1.0], [1e-3, 2e-3, 0.0]])
    labels = np.array([1, 2, 1])
    values, gradient, _ = value_and_gradient(labels, logits, smoothing)
    np.testing.assert_allclose(values, one_hot_formula(labels, logits, smoothing), rtol=1e-6)
    assert np.isfinite(gradient).all()


def test_half_precision_logits_are_computed_in_float32():
    logits = tf.constant(LOGITS, tf.float16)
    values = smoothed_cross_entropy(LABELS, logits, 0.1)
    assert values.dtype == tf.float32
    expected = one_hot_formula(LABELS, logits.numpy().astype("float64"), 0.1)
    np.testing.assert_allclose(values, expected, atol=1e-5)


def test_dynamic_shapes_in_a_graph_also_without_positions():
    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None, None, VOCABULARY], tf.float32),
        ]
    )
    def in_graph(labels, logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            values = smoothed_cross_entropy(labels, logits, 0.1)
        return values, tape.gradient(values, logits)

    values, _ = in_graph(LABELS, LOGITS.astype("float32"))
    np.testing.assert_allclose(values, one_hot_formula(LABELS, LOGITS, 0.1), atol=1e-5)
    values, gradient = in_graph(LABELS[:0], LOGITS[:0].astype("float32"))
    assert values.shape == (0, 3) and gradient.shape == (0, 3, VOCABULARY)


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"`labels` must be integer ids\. Received: dtype float32"):
        smoothed_cross_entropy(LABELS.astype("float32"), LOGITS)
    with pytest.raises(
        ValueError, match=r"`label_smoothing` must be at least 0 and less than 1\. Received: 1"
    ):
        smoothed_cross_entropy(LABELS, LOGITS, 1.0)
    with pytest.raises(
        ValueError, match=r"`logits` must have one axis more .*Received: labels of shape \(5, 3\)"
    ):
        smoothed_cross_entropy(LABELS, LOGITS[0])
    with pytest.raises(ValueError, match=r"must have a known size\. Received: shape \(.*None\)"):
        tf.function(
            lambda logits: smoothed_cross_entropy(LABELS, logits),
            input_signature=[tf.TensorSpec([5, 3, None])],
            autograph=False,
        )(LOGITS.astype("float32"))
