"""Requests beside a SavedModel, in the bytes that TensorFlow Serving reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from tf_transformer.export.warm_up_requests import prediction_log
from tf_transformer.tasks.example_inputs import WARM_UP


def requests(folder: Path) -> Iterator[predict_pb2.PredictRequest]:
    for record in tf.data.TFRecordDataset(str(folder / WARM_UP)).as_numpy_iterator():
        yield prediction_log_pb2.PredictionLog.FromString(record).predict_log.request


def test_the_bytes_are_those_of_the_protocol_buffers() -> None:
    inputs = {
        "text": np.array([b"x" * 20000, b""], object),
        "seed": np.array([3, -1], np.int32),
        "top_p": np.array([1.0, 0.5], np.float32),
    }
    wanted = prediction_log_pb2.PredictionLog()
    request = wanted.predict_log.request
    request.model_spec.name, request.model_spec.signature_name = "modèle", "sample"
    for name, array in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
    found = prediction_log("modèle", "sample", inputs)
    assert prediction_log_pb2.PredictionLog.FromString(found) == wanted
    # Lengths over 127 and over 16,383 take two bytes and three.
    assert len(found) == wanted.ByteSize()


def test_an_export_brings_a_request_for_each_signature(exported: Any, reversal_pairs: Any) -> None:
    found = {request.model_spec.signature_name: request for request in requests(exported.version)}
    assert set(found) == set(exported.manifest.signatures)
    assert {request.model_spec.name for request in found.values()} == {"reversal"}
    loaded = tf.saved_model.load(str(exported.version)).signatures
    texts = tf.make_ndarray(found["serving_default"].inputs["text"])
    assert {text.decode() for text in texts} <= {source for source, _ in reversal_pairs} and len(texts) == 2
    for name, request in found.items():
        specs = loaded[name].structured_input_signature[1]
        assert set(request.inputs) == set(specs)
        for argument, spec in specs.items():
            assert spec.is_compatible_with(tf.constant(tf.make_ndarray(request.inputs[argument])))
    assert exported.manifest.files[WARM_UP.as_posix()] == (exported.version / WARM_UP).stat().st_size
