"""TensorFlow Serving's own client stubs, unchanged, against the server."""

import re
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)
from toy_server import Running, running, until, write_version

from tf_transformer.serving.fault import Fault
from tf_transformer.serving.signature import Spec
from tf_transformer.serving.tensor_protos import to_array

Code = grpc.StatusCode


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("grpc")
    write_version(folder, 3)
    with running(folder, body=1 << 20, batch={"rows": 8, "queue": 50}) as found:
        yield found


@pytest.fixture(scope="module")
def channel(server: Running) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(server.grpc_address) as found:
        yield found


@pytest.fixture(scope="module")
def prediction(channel: grpc.Channel) -> Any:
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="module")
def models(channel: grpc.Channel) -> Any:
    return model_service_pb2_grpc.ModelServiceStub(channel)


def request(*texts: Any, name: str = "toy", signature: str = "", **others: Any) -> Any:
    made = predict_pb2.PredictRequest()
    made.model_spec.name = name
    made.model_spec.signature_name = signature
    made.inputs["text"].CopyFrom(tf.make_tensor_proto(list(texts)))
    for key, value in others.items():
        made.inputs[key].CopyFrom(value)
    return made


def refused(call: Any, made: Any, **options: Any) -> tuple[Any, str]:
    with pytest.raises(grpc.RpcError) as found:
        call(made, timeout=options.get("timeout", 20))
    return found.value.code(), found.value.details()


def test_predict(prediction: Any) -> None:
    response = prediction.Predict(request("ab", b"a\x00"), timeout=20)
    assert tf.make_ndarray(response.outputs["text"]).tolist() == [b"ba", b"\x00a"]
    assert set(response.outputs) == {"text", "version"}
    assert tf.make_ndarray(response.outputs["version"]).tolist() == [3, 3]
    # Fields of their type, where clients without TensorFlow look for values.
    assert list(response.outputs["version"].int_val) == [3, 3]
    spec = response.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("toy", 3, "serving_default")


def test_a_version_a_signature_and_a_filter(prediction: Any) -> None:
    made = request("ab", signature="twice", times=tf.make_tensor_proto(np.array([2], np.int32)))
    made.model_spec.version.value = 3
    made.output_filter.append("long_bytes")
    assert list(prediction.Predict(made, timeout=20).outputs["long_bytes"].string_val) == [b"abab"]
    made = request("abc", signature="scaled", by=tf.make_tensor_proto(np.float32(0.5)))
    assert list(prediction.Predict(made, timeout=20).outputs["length"].float_val) == [1.5]


def filled(count: int) -> Any:
    proto = tf.make_tensor_proto(["a"])
    proto.tensor_shape.dim[0].size = count
    return proto


def with_filter(made: Any, name: str) -> Any:
    made.output_filter.append(name)
    return made


def with_label(made: Any) -> Any:
    made.model_spec.version_label = "best"
    return made


def with_version(made: Any, number: int) -> Any:
    made.model_spec.version.value = number
    return made


@pytest.mark.parametrize(
    ("made", "code", "message"),
    [
        (request("a", name="other"), Code.NOT_FOUND, "the model here is toy. Received: other"),
        (request("a", name=""), Code.INVALID_ARGUMENT, "model_spec must have a name. Received: none"),
        (with_version(request("a"), 4), Code.NOT_FOUND, "toy is served in version 3. Received: 4"),
        (with_label(request("a")), Code.INVALID_ARGUMENT, "versions have no labels here. Received: best"),
        (request("a", signature="none"), Code.INVALID_ARGUMENT, "signature_name must be one of scaled"),
        (request("a", signature="twice"), Code.INVALID_ARGUMENT, "must be text, times. Received: text"),
        (request("a", x=filled(1)), Code.INVALID_ARGUMENT, "must be text. Received: x"),
        (request(1, 2), Code.INVALID_ARGUMENT, "input text must be of type string. Received: int32"),
        (request(["a"], ["b"]), Code.INVALID_ARGUMENT, "must have shape [?]. Received: [2, 1]"),
        (request(*"a" * 51), Code.INVALID_ARGUMENT, "at most 50 rows. Received: 51"),
        (request("a", text=filled(2**40)), Code.INVALID_ARGUMENT, "no valid tensor: its shape is of 1,0"),
        (request("a", text=filled(-1)), Code.INVALID_ARGUMENT, "input text is no valid tensor"),
        (with_filter(request("a"), "x"), Code.INVALID_ARGUMENT, "must name text, version. Received: x"),
        (request("poison"), Code.INVALID_ARGUMENT, "poison is no word"),
        (request("bug"), Code.INTERNAL, "cannot be run: nobody knows"),
        (request("a" * (1 << 20)), Code.RESOURCE_EXHAUSTED, "1048576"),
    ],
)
def test_what_is_refused(prediction: Any, made: Any, code: Any, message: str) -> None:
    found, details = refused(prediction.Predict, made)
    assert found is code, details
    assert message in details and "\n" not in details
    assert prediction.Predict(request("ab"), timeout=20).outputs["text"].string_val == [b"ba"]


def test_metadata(prediction: Any) -> None:
    made = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    made.model_spec.name = "toy"
    response = prediction.GetModelMetadata(made, timeout=20)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert signatures.signature_def["serving_default"].method_name == "tensorflow/serving/predict"
    made.metadata_field[0] = "graph"
    found = refused(prediction.GetModelMetadata, made)
    assert found == (Code.INVALID_ARGUMENT, "metadata_field must be signature_def. Received: graph")


def test_status(models: Any) -> None:
    made = get_model_status_pb2.GetModelStatusRequest()
    made.model_spec.name = "toy"
    (status,) = models.GetModelStatus(made, timeout=20).model_version_status
    assert (status.version, status.state) == (3, get_model_status_pb2.ModelVersionStatus.AVAILABLE)
    made.model_spec.version.value = 9
    assert refused(models.GetModelStatus, made)[0] is Code.NOT_FOUND


def test_what_exports_do_not_have(prediction: Any, models: Any) -> None:
    for call, made in (
        (prediction.Classify, classification_pb2.ClassificationRequest()),
        (prediction.Regress, regression_pb2.RegressionRequest()),
    ):
        made.model_spec.name = "toy"
        found = refused(call, made)
        assert found == (Code.INVALID_ARGUMENT, "signature serving_default is one for Predict")
    for call, made in (
        (prediction.MultiInference, inference_pb2.MultiInferenceRequest()),
        (models.HandleReloadConfigRequest, model_management_pb2.ReloadConfigRequest()),
    ):
        assert refused(call, made) == (Code.UNIMPLEMENTED, "is not offered here")


def test_a_deadline_is_kept_and_frees_the_queue(server: Running, prediction: Any) -> None:
    gate = server.toys.gate
    gate.shut()
    first = prediction.Predict.future(request("ab"), timeout=20)
    assert gate.reached.wait(20)
    code, _ = refused(prediction.Predict, request("late"), timeout=0.2)
    assert code is Code.DEADLINE_EXCEEDED
    second = prediction.Predict.future(request("cd"), timeout=20)
    gate.open()
    assert first.result().outputs["text"].string_val == [b"ba"]
    assert second.result().outputs["text"].string_val == [b"dc"]
    version = server.server.host.current
    until(lambda: version is not None and version.requests == 0)
    assert server.toys.loaded[3].signatures["serving_default"].sizes[-2:] == [1, 1]
    found = server.send("GET", "/metrics")[1].decode()
    # Whether the client or the server sees the end first is open.
    assert re.search(r'code="(CANCELLED|DEADLINE_EXCEEDED)",interface="grpc",method="predict"', found)


def test_numbers_that_their_type_cannot_hold() -> None:
    proto = tf.make_tensor_proto([1], tf.uint8)
    proto.ClearField("tensor_content")
    proto.int_val.append(300)
    with pytest.raises(Fault, match="input pixels is no valid tensor"):
        to_array(proto, Spec(tf.uint8, (None,)), "pixels")
