"""TensorFlow's protocol buffers of tensors, to arrays and back."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.serving.fault import invalid
from tf_transformer.serving.signature import Spec, reason

_MOST_FILLED = 1 << 16
_FIELDS = {
    tf.float32: "float_val",
    tf.float64: "double_val",
    tf.int64: "int64_val",
    tf.int32: "int_val",
    tf.int16: "int_val",
    tf.int8: "int_val",
    tf.uint8: "int_val",
    tf.bool: "bool_val",
    tf.string: "string_val",
}


def to_array(proto: Any, spec: Spec, name: str) -> np.ndarray[Any, Any]:
    """The array that a message holds.

    Args:
        proto: A ``TensorProto``.
        spec: What it is for.
        name: Of the argument.

    Raises:
        Fault: When it has another type, or does not hold what its shape says.
    """
    if proto.dtype != spec.dtype.as_datatype_enum:
        raise invalid(f"input {name} must be of type {spec.dtype.name}. Received: {_type_name(proto.dtype)}")
    try:
        sizes = [dim.size for dim in proto.tensor_shape.dim]
        size = int(np.prod(sizes, dtype=object))
        # A few bytes can name a shape of any size, which their last value fills.
        if (
            proto.tensor_shape.unknown_rank
            or min(sizes, default=0) < 0
            or size > max(proto.ByteSize(), _MOST_FILLED)
        ):
            raise ValueError(f"its shape is of {size:,} values, and it has {proto.ByteSize():,} bytes")
        array: np.ndarray[Any, Any] = tf.make_ndarray(proto)
        return array.astype(spec.array_type, copy=False)
    except (OverflowError, TypeError, ValueError) as error:
        raise invalid(f"input {name} is no valid tensor: {reason(error)}") from None


def to_proto(array: np.ndarray[Any, Any]) -> Any:
    """A message that holds an array, its values in the fields of their type where clients look for them."""
    dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
    field = _FIELDS.get(dtype)
    if field is None:
        return tf.make_tensor_proto(array)
    from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2

    dims = [tensor_shape_pb2.TensorShapeProto.Dim(size=size) for size in array.shape]
    shape = tensor_shape_pb2.TensorShapeProto(dim=dims)
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape)
    getattr(proto, field).extend(array.ravel().tolist())
    return proto


def _type_name(number: int) -> str:
    try:
        name: str = tf.as_dtype(number).name
    except TypeError:
        return f"type {number}"
    return name
