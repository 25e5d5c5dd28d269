"""The one mask convention: boolean, True = may attend, broadcastable to the scores `[B, H, T, S]`."""

from keras import ops

from tf_transformer.ops import Tensor
from tf_transformer.presets import PAD_ID


def padding_mask(ids: Tensor) -> Tensor:
    """Lets every query attend to the real tokens of its sentence and to no padding.

    Args:
        ids: Integer tensor `[B, S]`; 0 is padding.

    Returns:
        Boolean tensor `[B, 1, 1, S]`, True at real tokens.
    """
    return ops.not_equal(ids, PAD_ID)[:, None, None, :]


def length_mask(lengths: Tensor, size: int | Tensor) -> Tensor:
    """Lets every query attend to the first vectors of its sequence, and to nothing behind them.

    Args:
        lengths: Integer tensor `[B]`, how many vectors of each sequence are real.
        size: The number S of vectors with the padding, an integer or an integer scalar tensor.

    Returns:
        Boolean tensor `[B, 1, 1, S]`, True at real vectors.
    """
    return ops.less(ops.arange(size)[None, :], ops.cast(lengths, "int32")[:, None])[:, None, None, :]


def causal_mask(length: int | Tensor, past: int | Tensor = 0) -> Tensor:
    """Lets each position attend to itself and to what came before it.

    Args:
        length: The number T of positions, an integer or an integer scalar tensor.
        past: The number t of positions before them, which are keys alone; likewise.

    Returns:
        Boolean tensor `[1, 1, T, t + T]`, True where the key is not later than the query.
    """
    queries, keys = past + ops.arange(length), ops.arange(past + length)
    return ops.greater_equal(queries[:, None], keys[None, :])[None, None, :, :]


def expand_mask(mask: Tensor) -> Tensor:
    """Brings a mask of keys, of query-key pairs, or of pairs per head into the form of the scores.

    Args:
        mask: Boolean tensor `[B, S]`, `[B, T, S]` or `[B, H, T, S]` (any axis may be 1), True = may attend.

    Returns:
        Boolean tensor `[B, 1, 1, S]`, `[B, 1, T, S]` or `[B, H, T, S]`.

    Raises:
        ValueError: If the mask has another rank.
    """
    rank = len(mask.shape)
    if rank == 2:
        mask = mask[:, None, None, :]
    elif rank == 3:
        mask = mask[:, None, :, :]
    elif rank != 4:
        raise ValueError(
            "Argument `attention_mask` must have shape [batch, keys], [batch, queries, keys] or "
            f"[batch, heads, queries, keys]. Received: shape={tuple(mask.shape)}"
        )
    return ops.cast(mask, "bool")


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Lets a query attend where all masks let it.

    Args:
        *masks: Masks in one of the forms of `expand_mask`, or None for "everything".

    Returns:
        Boolean tensor of rank 4, or None if every mask is None.
    """
    combined = None
    for mask in masks:
        if mask is None:
            continue
        mask = expand_mask(mask)
        combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined
