"""A version's first calls, before anybody waits: the first one of a graph takes many times as long."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import prediction_log_pb2

from tf_transformer.manifest import Manifest
from tf_transformer.serving.fault import invalid
from tf_transformer.serving.signature import Arrays, ServedSignature
from tf_transformer.serving.tensor_protos import to_array
from tf_transformer.serving.version import DEFAULT_SIGNATURE, ServedVersion
from tf_transformer.tasks.example_inputs import TEXT, WARM_UP, example_inputs

_PIXELS = 32  # where a model takes any height and width
_SIZES = (("height", _PIXELS), ("width", _PIXELS), ("channels", 1))


def warm_up(version: ServedVersion) -> None:
    """Plays the requests that a version brings, and calls each other signature whose arguments are known.

    Raises:
        Fault: When one does not answer.
    """
    played = set()
    for signature, inputs in _recorded(version):
        signature.check(inputs)
        signature.run(inputs)
        played.add(signature.name)
    text = _picture(version.manifest) if version.manifest.image_form else TEXT
    for signature in version.signatures.values():
        made_up = None if signature.name in played else example_inputs(signature.inputs, {}, text)
        if made_up is not None:
            signature.run(made_up)


def _recorded(version: ServedVersion) -> Iterator[tuple[ServedSignature, Arrays]]:
    """The requests beside a version, as TensorFlow Serving has them."""
    path = version.folder / WARM_UP
    if not path.is_file():
        return
    try:
        records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
        logs = [prediction_log_pb2.PredictionLog.FromString(record) for record in records]
    except (tf.errors.OpError, DecodeError):
        raise invalid(f"{WARM_UP} is damaged") from None
    for request in (log.predict_log.request for log in logs):
        signature = version.signatures.get(request.model_spec.signature_name or DEFAULT_SIGNATURE)
        if signature is None:
            continue
        found = {name: request.inputs[name] for name in request.inputs if name in signature.inputs}
        yield (
            signature,
            {name: to_array(proto, signature.inputs[name], name) for name, proto in found.items()},
        )


def _picture(manifest: Manifest) -> bytes:
    form = manifest.image_form
    pixels: np.ndarray[Any, Any] = np.zeros([form.get(size) or default for size, default in _SIZES], np.uint8)
    content: bytes = tf.io.encode_png(pixels).numpy()
    return content
