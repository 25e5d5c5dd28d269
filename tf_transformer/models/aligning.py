"""Which of a decoder's attention says where a target came from."""

from collections.abc import Sequence

from keras import ops

from tf_transformer.ops import Tensor


def aligning(weights: Sequence[dict[str, Tensor]]) -> Tensor:
    """The attention that aligns best: the mean of all heads of the last block but one.

    "Jointly Learning to Align and Translate with Transformer Models" (Garg et al., 2019), section 3: that
    block's heads agree with word alignments better than the last block's.

    Args:
        weights: Of each decoder block, `cross` `[B, H, T, S]`.

    Returns:
        float32 `[B, T, S]`.
    """
    chosen = weights[-2] if len(weights) > 1 else weights[-1]
    return ops.mean(ops.cast(chosen["cross"], "float32"), axis=1)
