"""Sequences to one vector each: what counts is real positions, never padding.

A row without any real position gives zeros. `mask` is boolean `[B, S]`, True at real positions, or None
where all are real. Means and softmax are taken in float32.
"""

from keras import ops

from tf_transformer.ops import Tensor


def mean_pool(states: Tensor, mask: Tensor | None = None) -> Tensor:
    """The mean of the real positions: `[B, S, D]` to `[B, D]`, in the dtype of `states`."""
    exact = ops.cast(states, "float32")
    if mask is None:
        return ops.cast(ops.mean(exact, axis=1), states.dtype)
    total = ops.sum(ops.where(mask[:, :, None], exact, 0.0), axis=1)  # [B, D]
    count = ops.sum(ops.cast(mask, "float32"), axis=1)[:, None]  # [B, 1]
    return ops.cast(total / ops.maximum(count, 1.0), states.dtype)


def max_pool(states: Tensor, mask: Tensor | None = None) -> Tensor:
    """The greatest value of each feature over the real positions: `[B, S, D]` to `[B, D]`."""
    if mask is None:
        return ops.max(states, axis=1)
    greatest = ops.max(ops.where(mask[:, :, None], states, float("-inf")), axis=1)  # [B, D]
    return ops.where(ops.any(mask, axis=1)[:, None], greatest, ops.zeros_like(greatest))


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the real positions of each row.

    Args:
        scores: Float tensor `[B, S]`.
        mask: Boolean `[B, S]`, or None.

    Returns:
        Float32 `[B, S]`: exactly 0 at padding; each row sums to 1, or to 0 where nothing is real.
    """
    scores = ops.cast(scores, "float32")
    if mask is None:
        mask = ops.ones_like(scores, dtype="bool")
    highest = ops.max(ops.where(mask, scores, float("-inf")), axis=1, keepdims=True)
    # Padding may score higher than all that is real: it is left out before it could overflow.
    shifted = ops.where(mask, scores - ops.stop_gradient(highest), 0.0)
    powers = ops.where(mask, ops.exp(shifted), 0.0)  # the greatest is 1
    return powers / ops.maximum(ops.sum(powers, axis=1, keepdims=True), 1.0)


def marked_states(states: Tensor, marks: Tensor, num_marks: int) -> Tensor:
    """The states at the first position of each mark, side by side.

    Args:
        states: Float tensor `[B, S, D]`.
        marks: Integer tensor `[B, S]`: 0 where nothing is marked, else the number of the mark, from 1.
        num_marks: The number M of marks.

    Returns:
        `[B, M * D]`; zeros for a mark that a row does not have.
    """
    wanted = ops.arange(1, num_marks + 1, dtype=marks.dtype)
    found = ops.equal(marks[:, None, :], wanted[None, :, None])  # [B, M, S]
    first = ops.argmax(found, axis=-1)  # [B, M], of equal values the first
    picked = ops.take_along_axis(states, first[:, :, None], axis=1)  # [B, M, D]
    picked = ops.where(ops.any(found, axis=-1)[:, :, None], picked, ops.zeros_like(picked))
    return ops.reshape(picked, (-1, num_marks * states.shape[-1]))
