"""The projection of states to the vocabulary and the cross-entropy of its logits, as one function."""

from keras import ops

from tf_transformer.ops import Tensor
from tf_transformer.ops.cross_entropy import log_sum_exp, pick
from tf_transformer.ops.projected_loss import projected_loss


def projected_cross_entropy(
    labels: Tensor,
    states: Tensor,
    table: Tensor,
    label_smoothing: float = 0.0,
    ignore_id: int | None = 0,
    weights: Tensor | None = None,
    chunk: int | None = None,
) -> Tensor:
    """The sum of `smoothed_cross_entropy(labels, states @ table^T)` at less cost, in time and memory.

    Knowing both factors of the logits z = h E^T saves most passes over them, which cost more than the
    products. With p the softmax, k = 1 - label_smoothing and y the label, the cross-entropy but for the share
    that smoothing spreads (see `projected_loss`) is

        log sum exp z - k z[y], where log sum exp z = z[y] - log p[y],

    and its gradient by z is p, less k at the label.

    Args:
        labels: Integer ids, `[...]`, from 0 to V - 1 or equal to `ignore_id`.
        states: Float tensor `[..., D]`; its dtype is that of the products.
        table: Float32 tensor or variable `[V, D]`, one row a class.
        label_smoothing: Share of the target that is spread over the classes, from 0 up to 1 (excluded).
        ignore_id: Label of positions that do not count. None when all do.
        weights: What each position counts, of the shape of `labels`. None for 1.
        chunk: Positions whose logits are in memory at a time. None for all.

    Returns:
        The sum of the weighted cross-entropies in nats, a float32 scalar.

    Raises:
        TypeError: If `labels` are not integers.
        ValueError: If `label_smoothing` is out of range, or if the shapes do not fit.
    """
    sharp = 1.0 - label_smoothing

    def score(labels: Tensor, states: Tensor, kernel: Tensor) -> tuple[Tensor, list[Tensor]]:
        return _score(labels, states, kernel, sharp)

    return projected_loss(
        score,
        labels,
        states,
        table,
        label_smoothing=label_smoothing,
        ignore_id=ignore_id,
        weights=weights,
        chunk=chunk,
    )


def _score(labels: Tensor, states: Tensor, kernel: Tensor, sharp: float) -> tuple[Tensor, list[Tensor]]:
    def project() -> Tensor:
        return ops.cast(ops.matmul(states, ops.transpose(kernel)), "float32")

    logits = project()  # [R, V]
    probabilities = ops.softmax(logits, axis=-1)
    label_logits, label_probabilities = pick(logits, labels), pick(probabilities, labels)
    at_label = ops.stack([ops.arange(ops.shape(labels)[0], dtype="int32"), labels], axis=-1)  # [R, 2]
    by_logits = ops.scatter_update(
        ops.cast(probabilities, states.dtype), at_label, ops.cast(label_probabilities - sharp, states.dtype)
    )
    # Projected again where it is needed, which is next to never, so that the logits need not be held for it.
    values = log_sum_exp(project, label_logits, label_probabilities) - sharp * label_logits
    return values, [by_logits]
