"""R-Drop: two passes of one batch through different dropouts are made to agree (Liang et al., 2021).

Shapes: N positions of one pass, D width, V vocabulary.
"""

from keras import ops

from tf_transformer.ops import Tensor
from tf_transformer.ops.cross_entropy import log_sum_exp, pick
from tf_transformer.ops.projected_loss import projected_loss


def consistent_cross_entropy(
    labels: Tensor,
    states: Tensor,
    table: Tensor,
    weight: float,
    label_smoothing: float = 0.0,
    ignore_id: int | None = 0,
    weights: Tensor | None = None,
    chunk: int | None = None,
) -> Tensor:
    """Cross-entropy of two passes, and how far they disagree, from the states before the output table.

    With P1 and P2 what the two passes predict at a position and CE their smoothed cross-entropies, it is the
    sum over the positions of

        (CE(P1) + CE(P2)) / 2 + weight / 2 * (KL(P1 || P2) + KL(P2 || P1)) / 2,

    which is half of equation 4 of Liang et al. (2021), "R-Drop: Regularized Dropout for Neural Networks", its
    divergence being equation 2: half, so that passes which agree give the loss of a single one. With the
    logits z = h E^T and their difference d = z1 - z2, the sum of both divergences is

        sum of (P1 - P2) * (log P1 - log P2) = <P1, d> - <P2, d>,

    since both sides sum to 1, and its gradient by z1 is P1 * (d - <P1, d>) + P1 - P2. On the way there are
    about three float32 tensors of the size of both passes' logits of a chunk.

    Args:
        labels: Integer ids, `[B, ...]`, from 0 to V - 1 or equal to `ignore_id`.
        states: Float tensor `[2 * B, ..., D]`, the first pass, then the second; its dtype is that of the
            products, all else is float32.
        table: Float32 tensor or variable `[V, D]`, one row a class.
        weight: What the disagreement weighs, more than 0; `alpha` of the paper.
        label_smoothing: Share of the target that is spread over the classes, from 0 up to 1 (excluded).
        ignore_id: Label of positions that do not count. None when all do.
        weights: What each position counts, of the shape of `labels`. None for 1.
        chunk: Positions of a pass whose logits are in memory at a time. None for all.

    Returns:
        The sum of the weighted values in nats, a float32 scalar.

    Raises:
        TypeError: If `labels` are not integers.
        ValueError: If `weight` or `label_smoothing` is out of range, or if the shapes do not fit.
    """
    if not weight > 0:
        raise ValueError(f"`weight` must be more than 0. Received: {weight!r}")
    rows = labels.shape[0], states.shape[0]
    if None not in rows and rows[1] != 2 * rows[0]:
        raise ValueError(
            f"`states` must have two rows for each of `labels`. Received: {rows[1]} for {rows[0]}"
        )
    share, sharp = weight / 4.0, 1.0 - label_smoothing

    def score(labels: Tensor, states: Tensor, kernel: Tensor) -> tuple[Tensor, list[Tensor]]:
        return _score(labels, states, kernel, share, sharp)

    return projected_loss(
        score,
        labels,
        states,
        table,
        passes=2,
        scale=share,
        label_smoothing=label_smoothing,
        ignore_id=ignore_id,
        weights=weights,
        chunk=chunk,
    )


def _score(
    labels: Tensor, states: Tensor, kernel: Tensor, share: float, sharp: float
) -> tuple[Tensor, list[Tensor]]:
    """The values and their gradients by both logits, [N] and two [N, V], but for what smoothing spreads.

    The gradients are in the dtype of the states, and divided by `share`: their largest terms need no factor.
    """

    def project() -> Tensor:
        return ops.cast(ops.matmul(states, ops.transpose(kernel)), "float32")

    logits = project()  # [2 * N, V]
    probabilities = ops.softmax(logits, axis=-1)
    both = ops.concatenate([labels, labels])
    label_logits = pick(logits, both)
    entropies = log_sum_exp(project, label_logits, pick(probabilities, both)) - sharp * label_logits
    entropy = sum(_halves(entropies)) / 2.0
    half = 0.5 / share
    divergence, by_logits = _divergence(_halves(logits), _halves(probabilities), 1.0 + half)
    at_label = ops.stack([ops.arange(ops.shape(labels)[0], dtype="int32"), labels], axis=-1)  # [N, 2]
    kept = []
    for part in by_logits:
        less = ops.cast(pick(part, labels) - sharp * half, states.dtype)
        kept.append(ops.scatter_update(ops.cast(part, states.dtype), at_label, less))
    return entropy + share * divergence, kept


def _divergence(
    logits: tuple[Tensor, Tensor], probabilities: tuple[Tensor, Tensor], more: float
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """KL(P1 || P2) + KL(P2 || P1), [N], and its gradients by both logits, [N, V].

    To the gradients `more` - 1 times the probabilities are added, which costs nothing here.
    """
    first, second = probabilities
    difference = logits[0] - logits[1]
    first_mean = ops.sum(first * difference, axis=-1, keepdims=True)
    second_mean = ops.sum(second * difference, axis=-1, keepdims=True)
    by_logits = (
        first * (difference + (more - first_mean)) - second,
        second * ((more + second_mean) - difference) - first,
    )
    return ops.squeeze(first_mean - second_mean, -1), by_logits


def _halves(values: Tensor) -> tuple[Tensor, Tensor]:
    """The two passes of `[2 * N, ...]`; parts of its first axis, which share its memory."""
    pair = ops.reshape(values, (2, -1, *values.shape[1:]))
    return pair[0], pair[1]
