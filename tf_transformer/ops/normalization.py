"""Normalisations whose gradients are written by hand, in fewer passes over memory than derived ones."""

from typing import Any

from keras import ops

from tf_transformer.ops import Tensor


def layer_norm(inputs: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-5) -> Tensor:
    """Normalises the last axis: `gamma * (x - mean) / sqrt(variance + epsilon) + beta`.

    "Layer Normalization" (Ba et al., 2016), equation 4; computed in float32 whatever the dtype of the inputs.
    With n = (x - mean) / sqrt(variance + epsilon) and g = gamma * dL/dy, the gradient by x is
    `(g - mean(g) - n * mean(g * n)) / sqrt(variance + epsilon)`.

    Args:
        inputs: Float tensor `[..., D]`.
        gamma: Float32 tensor `[D]`.
        beta: Float32 tensor `[D]`.
        epsilon: Added to the variance.

    Returns:
        Tensor `[..., D]` in the dtype of the inputs.
    """
    width = inputs.shape[-1]

    @ops.custom_gradient
    def normalise(flat: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Any]:
        exact = ops.cast(flat, "float32")
        centred = exact - ops.mean(exact, axis=-1, keepdims=True)
        inverse = ops.rsqrt(ops.mean(ops.square(centred), axis=-1, keepdims=True) + epsilon)  # [N, 1]
        normal = centred * inverse
        outputs = ops.cast(normal * gamma + beta, flat.dtype)

        def gradient(*args: Tensor, upstream: Tensor = None) -> tuple[Tensor, Tensor, Tensor]:
            # PyTorch's convention of Keras is `upstream`, the other backends' one positional argument.
            upstream = ops.cast(args[-1] if upstream is None else upstream, "float32")  # [N, D]
            product = upstream * normal
            # Means of what `gamma` weighs, as matrix-vector products: nothing of the full size is written.
            share = ops.expand_dims(gamma / width, -1)
            inner = upstream * gamma - (ops.matmul(upstream, share) + normal * ops.matmul(product, share))
            return ops.cast(inner * inverse, flat.dtype), ops.sum(product, axis=0), ops.sum(upstream, axis=0)

        return outputs, gradient

    flat = ops.reshape(inputs, (-1, width))
    # Reshaped, variables have become tensors, which is what a custom gradient takes.
    outputs = normalise(flat, ops.reshape(gamma, (width,)), ops.reshape(beta, (width,)))
    return ops.reshape(outputs, ops.shape(inputs))


def rms_norm(inputs: Tensor, gamma: Tensor, epsilon: float = 1e-5) -> Tensor:
    """Divides the last axis by the root of its mean square: `gamma * x / sqrt(mean(x^2) + epsilon)`.

    "Root Mean Square Layer Normalization" (Zhang and Sennrich, 2019), equation 4; computed in float32
    whatever the dtype of the inputs. With n = x / sqrt(mean(x^2) + epsilon) and g = gamma * dL/dy, the
    gradient by x is `(g - n * mean(g * n)) / sqrt(mean(x^2) + epsilon)`.

    Args:
        inputs: Float tensor `[..., D]`.
        gamma: Float32 tensor `[D]`.
        epsilon: Added to the mean square.

    Returns:
        Tensor `[..., D]` in the dtype of the inputs.
    """
    width = inputs.shape[-1]

    @ops.custom_gradient
    def normalise(flat: Tensor, gamma: Tensor) -> tuple[Tensor, Any]:
        exact = ops.cast(flat, "float32")
        inverse = ops.rsqrt(ops.mean(ops.square(exact), axis=-1, keepdims=True) + epsilon)  # [N, 1]
        normal = exact * inverse
        outputs = ops.cast(normal * gamma, flat.dtype)

        def gradient(*args: Tensor, upstream: Tensor = None) -> tuple[Tensor, Tensor]:
            # PyTorch's convention of Keras is `upstream`, the other backends' one positional argument.
            upstream = ops.cast(args[-1] if upstream is None else upstream, "float32")  # [N, D]
            product = upstream * normal
            share = ops.expand_dims(gamma / width, -1)
            inner = upstream * gamma - normal * ops.matmul(product, share)
            return ops.cast(inner * inverse, flat.dtype), ops.sum(product, axis=0)

        return outputs, gradient

    flat = ops.reshape(inputs, (-1, width))
    # Reshaped, variables have become tensors, which is what a custom gradient takes.
    outputs = normalise(flat, ops.reshape(gamma, (width,)))
    return ops.reshape(outputs, ops.shape(inputs))
