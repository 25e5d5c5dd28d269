"""Metrics weigh every real token alike, ignore padding, and know nothing of smoothing."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.metrics import MaskedAccuracy, Perplexity

# Two batches of 1 and 4 real tokens; the label has probability 1/2 in the first and 1/8 in the second.
FIRST = np.array([[1, 0, 0]], "int32"), np.log(np.full((1, 3, 2), 0.5, "float32"))
SECOND = np.array([[1, 1], [1, 1]], "int32"), np.log(np.tile([0.875, 0.125], (2, 2, 1)))


def test_perplexity_over_tokens_and_not_over_batches():
    metric = Perplexity()
    metric.update_state(*FIRST)
    metric.update_state(*SECOND)
    # exp((1 log 2 + 4 log 8) / 5) = 2 ** (13 / 5); a mean of the batches' means would be 4.
    assert float(metric.result()) == pytest.approx(2.0 ** (13.0 / 5.0), rel=1e-6)
    metric.reset_state()
    assert float(metric.result()) == 1.0


def test_accuracy_over_tokens():
    labels = np.array([[2, 1, 0], [1, 1, 1]], "int32")
    logits = np.log(np.tile([0.1, 0.2, 0.7], (2, 3, 1)))
    metric = MaskedAccuracy()
    assert float(metric.result()) == 0.0
    metric.update_state(labels, logits)
    assert float(metric.result()) == pytest.approx(1.0 / 5.0)
    metric.update_state(np.full((1, 5), 2), np.tile(logits[:1, :1], (1, 5, 1)))
    assert float(metric.result()) == pytest.approx(6.0 / 10.0)


@pytest.mark.parametrize("weights", [[[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [1.0, 0.0]])
def test_sample_weights(weights):
    labels = np.array([[2, 1, 0], [1, 1, 1]], "int32")
    logits = np.log(np.tile([0.1, 0.2, 0.7], (2, 3, 1)))
    assert float(MaskedAccuracy()(labels, logits, sample_weight=np.array(weights))) == 0.5
    assert float(Perplexity()(labels, logits, sample_weight=np.array(weights))) == pytest.approx(0.14**-0.5)


@pytest.mark.parametrize("kind", [MaskedAccuracy, Perplexity])
def test_labels_and_weights_that_do_not_fit_are_refused(kind):
    labels, logits = FIRST
    with pytest.raises(ValueError, match=r"`y_true` must be whole .* vocabulary, 2\. Received: -1"):
        kind()(np.array([[-1, 0, 0]]), logits)
    with pytest.raises(ValueError, match=r"`y_true` and the positions .*Received: \(1, 1\) and \(1, 3\)"):
        kind()(labels[:, :1], logits)
    with pytest.raises(ValueError, match=r"`sample_weight` must be one weight .*Received: shape \(3,\)"):
        kind()(labels, logits, sample_weight=np.ones(3))  # one for each position
    with pytest.raises(TypeError, match=r"`ignore_id` must be a whole number\. Received: None"):
        kind(ignore_id=None)


def test_other_padding_and_padding_alone():
    logits = np.log(np.tile([0.7, 0.2, 0.1], (1, 2, 1)))
    assert float(MaskedAccuracy(ignore_id=2)(np.array([[0, 2]]), logits)) == 1.0
    assert float(Perplexity(ignore_id=2)(np.array([[2, 2]]), logits)) == 1.0
    assert float(MaskedAccuracy(ignore_id=2)(np.array([[2, 2]]), logits)) == 0.0


def test_in_fit_and_evaluate():
    model = keras.Sequential([keras.layers.Embedding(2, 2, embeddings_initializer="zeros")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=[MaskedAccuracy(), Perplexity()])
    targets = np.array([[1, 0, 0], [1, 1, 1]])
    logs = model.evaluate(tf.data.Dataset.from_tensors((targets, targets)), verbose=0, return_dict=True)
    assert logs["masked_accuracy"] == 0.0  # equal logits: the first class is taken
    assert logs["perplexity"] == pytest.approx(2.0)


@pytest.mark.parametrize("kind", [MaskedAccuracy, Perplexity])
def test_config_round_trip(kind):
    metric = kind(ignore_id=3, name="other")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert type(again) is kind and again.get_config() == {"name": "other", "ignore_id": 3}
