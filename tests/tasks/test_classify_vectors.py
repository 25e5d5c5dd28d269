"""What a classifier of sequences serves: nothing is made up of what is no sequence."""

import numpy as np
import tensorflow as tf

from tf_transformer.data.example_preprocessor import VectorPreprocessor
from tf_transformer.layers import Encoder, VectorEmbedding
from tf_transformer.models import Classifier
from tf_transformer.tasks import VectorClassifier
from tf_transformer.text import Labels


def test_what_is_no_sequence_has_no_label() -> None:
    side = VectorPreprocessor(Labels(["no", "yes"]), [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], max_length=5)
    embedding = VectorEmbedding(6, mean=side.mean, deviation=side.deviation, seed=3)
    pooling = ["first", "mean", "max", "attention"]
    model = Classifier(2, embedding, Encoder(1, 3, 7, seed=5), pooling, inputs_shape=(None, 3), seed=7)
    task = VectorClassifier(model, side)
    sequences = np.ones((4, 7, 3), "float32")
    sequences[1, 2, 0] = np.nan  # real
    sequences[2, 2:] = np.inf  # behind the end
    served = task.served().serving_default
    found = served(tf.constant(sequences), tf.constant([7, 3, 2, -1]))
    label = task.classify([sequences[0], sequences[2, :2]])
    assert found["label"].numpy().tolist() == [label[0].encode(), b"", label[1].encode(), b""]
    assert np.isfinite(found["probabilities"]).all()
    nothing = served(tf.zeros([2, 0, 3]), tf.zeros([2], tf.int32))
    assert nothing["label"].numpy().tolist() == [b"", b""] and not nothing["probabilities"].numpy().any()
