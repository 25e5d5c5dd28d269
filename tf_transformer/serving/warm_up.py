"""A version's first calls, before anybody waits: the first one of a graph takes many times as long."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.manifest import Manifest
from tf_transformer.serving.signature import Arrays, ServedSignature, Spec
from tf_transformer.serving.version import ServedVersion

_ROWS = 2
_PIXELS = 32  # where a model takes any height and width
_TEXT = b"1 2 3"
_SIZES = (("height", _PIXELS), ("width", _PIXELS), ("channels", 1))
_NEUTRAL = {"temperature": 1, "top_p": 1}


def warm_up(version: ServedVersion) -> None:
    """Calls each signature whose arguments are known here.

    Raises:
        Fault: When one does not answer.
    """
    for signature in version.signatures.values():
        inputs = _example(signature, version.manifest)
        if inputs is not None:
            signature.run(inputs)


def _example(signature: ServedSignature, manifest: Manifest) -> Arrays | None:
    found = {name: _argument(name, spec, manifest) for name, spec in signature.inputs.items()}
    known = {name: array for name, array in found.items() if array is not None}
    return known if len(known) == len(found) else None


def _argument(name: str, spec: Spec, manifest: Manifest) -> Any:
    """An array for an argument, or None where nobody can say what it means."""
    if spec.shape is None:
        return None
    shape = [size or _ROWS for size in spec.shape]
    if spec.dtype == tf.string:
        content = _picture(manifest) if manifest.image_form else _TEXT
        return np.full(shape, content, object)
    if spec.dtype.is_floating or spec.dtype.is_integer:
        return np.full(shape, _NEUTRAL.get(name, 1), spec.array_type)
    return None


def _picture(manifest: Manifest) -> bytes:
    form = manifest.image_form
    pixels = np.zeros([form.get(size) or default for size, default in _SIZES], np.uint8)
    content: bytes = tf.io.encode_png(pixels).numpy()
    return content
