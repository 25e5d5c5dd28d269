"""Requests that a server plays before a version answers, where TensorFlow Serving looks for them.

``assets.extra/tf_serving_warmup_requests`` is a TFRecord file of ``PredictionLog`` messages. Their protocol
buffers come with ``tensorflow-serving-api``, which an export must not need; what is written of them is few
fields, all of one wire type, so their bytes are put together here::

    PredictionLog   { PredictLog predict_log = 6; }
    PredictLog      { PredictRequest request = 1; }
    PredictRequest  { ModelSpec model_spec = 1; map<string, TensorProto> inputs = 2; }
    ModelSpec       { string name = 1; string signature_name = 3; }
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.tasks.example_inputs import ROWS, WARM_UP, example_inputs
from tf_transformer.tasks.task import Inputs, Trial

_DELIMITED = 2
_SEVEN_BITS = 7


@dataclass(frozen=True)
class _Spec:
    dtype: Any
    shape: tuple[int | None, ...] | None


def write_warm_up(folder: Path, name: str, trial: Trial) -> None:
    """Writes one request for each signature of a SavedModel whose arguments are known.

    Args:
        folder: The SavedModel.
        name: What the model is called.
        trial: How it is tried: its calls have examples, the first one those of most use.
    """
    path = folder / WARM_UP
    path.parent.mkdir(exist_ok=True)
    first, *_ = trial.calls
    tried = {call.signature: _few(call.batches[0]) for call in reversed(trial.calls)}
    with tf.io.TFRecordWriter(str(path)) as file:
        for signature, specs in _signatures(folder):
            inputs = example_inputs(specs, tried.get(signature, tried[first.signature]))
            if inputs is not None:
                file.write(prediction_log(name, signature, inputs))


def prediction_log(name: str, signature: str, inputs: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """The bytes of a ``PredictionLog`` with a request.

    Args:
        name: Of the model.
        signature: Of the signature.
        inputs: Arrays by argument.
    """
    spec = _field(1, name.encode()) + _field(3, signature.encode())
    request = _field(1, spec)
    for argument, array in sorted(inputs.items()):
        tensor = tf.make_tensor_proto(array).SerializeToString()
        request += _field(2, _field(1, argument.encode()) + _field(2, tensor))
    return _field(6, _field(1, request))


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes: its tag, the length and the content."""
    return _varint(number << 3 | _DELIMITED) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first; all but the last have the eighth bit."""
    groups = []
    while number >> _SEVEN_BITS:
        groups.append(number & 0x7F | 0x80)
        number >>= _SEVEN_BITS
    return bytes([*groups, number])


def _few(batch: Inputs) -> dict[str, list[Any]]:
    """Rows of middling size out of a batch of a trial."""
    first = next(iter(batch.values()))
    order = sorted(range(len(first)), key=lambda row: len(first[row]))
    middle = max(0, len(order) // 2 - ROWS // 2)
    return {name: [values[row] for row in order[middle : middle + ROWS]] for name, values in batch.items()}


def _signatures(folder: Path) -> Iterator[tuple[str, dict[str, _Spec]]]:
    """The signatures of a SavedModel, and what each argument is."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((folder / "saved_model.pb").read_bytes())
    for name, signature in sorted(saved.meta_graphs[0].signature_def.items()):
        if not name.startswith("__"):
            yield name, {argument: _spec(info) for argument, info in signature.inputs.items()}


def _spec(info: Any) -> _Spec:
    shape = tf.TensorShape(info.tensor_shape)
    return _Spec(tf.as_dtype(info.dtype), None if shape.rank is None else tuple(shape.as_list()))
