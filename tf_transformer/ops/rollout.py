"""Where a class comes from: attention followed through all blocks back to the patches of a picture."""

from collections.abc import Sequence

from keras import ops

from tf_transformer.ops import Tensor


def attention_rollout(weights: Sequence[Tensor]) -> Tensor:
    """How much of each input position is in each state behind the last block.

    "Quantifying Attention Flow in Transformers" (Abnar and Zuidema, 2020), section 3: the attention of each
    block is averaged over its heads and mixed half and half with the identity, which stands for the residual
    connection; the blocks are multiplied.

    Args:
        weights: Attention weights of each block, the first block first, float tensors `[B, H, S, S]`; each
            row sums to 1.

    Returns:
        Float32 tensor `[B, S, S]`: row q has the shares of the inputs in state q; each row sums to 1.

    Raises:
        ValueError: If there is no block.
    """
    if not weights:
        raise ValueError("`weights` must be those of one block at least. Received: none")
    rollout: Tensor = None
    for block in weights:
        mean = ops.mean(ops.cast(block, "float32"), axis=1)  # [B, S, S]
        mixed = (mean + ops.eye(mean.shape[-1], dtype="float32")) / 2
        rollout = mixed if rollout is None else ops.matmul(mixed, rollout)
    return rollout


def patch_relevance(rollout: Tensor, pooling: Tensor, grid: tuple[int, int]) -> Tensor:
    """The share of each patch of a picture in the vector that its class is told from.

    Args:
        rollout: As from `attention_rollout`, `[B, S, S]`; a class token, if any, comes first.
        pooling: The weight of each state in the vector, `[B, S]` or `[S]`: all on the first one for a class
            token, equal ones for a mean, those of a pooling by attention as they are.
        grid: Rows and columns of patches.

    Returns:
        Float32 tensor `[B, rows, columns]`; the shares of a picture sum to 1, that of a class token left out.
    """
    pooling = ops.broadcast_to(ops.cast(pooling, "float32"), ops.shape(rollout)[:2])
    shares = ops.matmul(pooling[:, None, :], rollout)[:, 0]  # [B, S]
    patches = shares[:, -grid[0] * grid[1] :]
    patches = patches / ops.sum(patches, axis=-1, keepdims=True)
    return ops.reshape(patches, (-1, *grid))
