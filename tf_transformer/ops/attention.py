"""Scaled dot-product attention, and the products and reshapings around it."""

from collections.abc import Callable

import keras
from keras import ops

from tf_transformer.ops import Tensor

# Finite, so that a row with every key masked becomes a mean and not NaN; used in float32, where it fits.
_MASKED_SCORE = -1e9


def project(inputs: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiplies the last axis by a matrix, as one two-dimensional product whatever the leading axes.

    Args:
        inputs: Tensor `[..., D]`.
        kernel: Tensor `[D, E]` of the same dtype.
        bias: Tensor `[E]` of the same dtype, or None.

    Returns:
        Tensor `[..., E]`.
    """
    width, outputs_dim = kernel.shape
    outputs = ops.matmul(ops.reshape(inputs, (-1, width)), kernel)
    if bias is not None:
        outputs = outputs + bias
    return ops.reshape(outputs, (*ops.shape(inputs)[:-1], outputs_dim))


def split_heads(inputs: Tensor, num_heads: int) -> Tensor:
    """Cuts the last axis into heads and moves them before the time axis.

    Args:
        inputs: Tensor `[..., T, H*d]`.
        num_heads: The number H of heads.

    Returns:
        Tensor `[..., H, T, d]`.
    """
    heads = ops.reshape(inputs, (*ops.shape(inputs)[:-1], num_heads, inputs.shape[-1] // num_heads))
    return _swap_heads_and_time(heads)  # [..., T, H, d] -> [..., H, T, d]


def merge_heads(heads: Tensor) -> Tensor:
    """Undoes `split_heads`.

    Args:
        heads: Tensor `[..., H, T, d]`.

    Returns:
        Tensor `[..., T, H*d]`.
    """
    width = heads.shape[-3] * heads.shape[-1]
    outputs = _swap_heads_and_time(heads)  # [..., T, H, d]
    return ops.reshape(outputs, (*ops.shape(outputs)[:-2], width))


def _swap_heads_and_time(heads: Tensor) -> Tensor:
    leading = range(len(heads.shape) - 3)
    last = len(heads.shape) - 1
    return ops.transpose(heads, (*leading, last - 1, last - 2, last))


def dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
    penalties: Tensor | None = None,
    between: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Attends: `softmax(Q K^T / sqrt(d)) V` ("Attention Is All You Need", Vaswani et al., 2017, equation 1).

    The products run in the dtype of the arguments, the softmax in float32. A query whose keys are all masked
    gets the mean of the values.

    Args:
        query: Tensor `[..., H, T, d]`.
        key: Tensor `[..., G, S, d]`. G is H, or fewer, and then H / G heads of the queries share each ("GQA:
            Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", Ainslie et al.,
            2023).
        value: Tensor `[..., G, S, e]`; its width may differ from that of the keys.
        mask: Boolean tensor broadcastable to `[..., H, T, S]`, True = may attend; or None for "everywhere".
        dropout: Applied to the weights on their way to the values, never to the weights that are returned.
        penalties: Float32 tensor broadcastable to `[..., H, T, S]` that is taken from the scores, or None.
        between: Vectors `[T, S, d]` that are added to the keys, and vectors `[T, S, e]` that are added to the
            values, as each query sees them (Shaw et al., 2018, equations 3 and 4); or None.

    Returns:
        The outputs `[..., H, T, e]` in the dtype of `value` and the weights `[..., H, T, S]` in float32.
    """
    axes = list(range(len(key.shape)))
    axes[-2:] = axes[:-3:-1]
    query = query * (key.shape[-1] ** -0.5)
    scores = _heads_by_groups(query, ops.transpose(key, axes))
    if between is not None:
        scores = scores + _rows_by_matrices(query, ops.transpose(between[0], (0, 2, 1)))
    scores = ops.cast(scores, "float32")  # [..., H, T, S]
    if penalties is not None:
        scores = scores - penalties
    if mask is not None:
        # A selection, not a sum: adding a broadcast [1, 1, T, T] bias has no fast kernel on the CPU.
        scores = ops.where(mask, scores, _MASKED_SCORE)
    # Keras warns of a softmax over one element, which is what the first step of every decoding has.
    weights = ops.ones_like(scores) if scores.shape[-1] == 1 else ops.softmax(scores, axis=-1)
    used = ops.cast(weights, keras.backend.standardize_dtype(value.dtype))
    if dropout is not None:
        used = dropout(used)
    outputs = _heads_by_groups(used, value)
    if between is not None:
        outputs = outputs + _rows_by_matrices(used, between[1])
    return outputs, weights


def _heads_by_groups(heads: Tensor, groups: Tensor) -> Tensor:
    """`[..., H, T, x]` by `[..., G, x, y]` to `[..., H, T, y]`, where H / G heads share a matrix."""
    if heads.shape[-3] == groups.shape[-3]:
        return ops.matmul(heads, groups)
    *leading, num_heads, length, width = ops.shape(heads)
    num_groups = groups.shape[-3]
    # Heads that share keys are more queries of theirs: nothing is repeated.
    wide = ops.reshape(heads, (*leading, num_groups, num_heads // num_groups * length, width))
    products = ops.matmul(wide, groups)  # [..., G, H/G * T, y]
    return ops.reshape(products, (*leading, num_heads, length, ops.shape(groups)[-1]))


def _rows_by_matrices(rows: Tensor, matrices: Tensor) -> Tensor:
    """`[..., T, x]` by one matrix a row, `[T, x, y]`, to `[..., T, y]`."""
    *leading, length, width = ops.shape(rows)
    flat = ops.transpose(ops.reshape(rows, (-1, length, width)), (1, 0, 2))  # [T, N, x]
    products = ops.transpose(ops.matmul(flat, matrices), (1, 0, 2))  # [N, T, y]
    return ops.reshape(products, (*leading, length, ops.shape(matrices)[-1]))
