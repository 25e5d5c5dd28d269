"""The likeliest next tokens of every hypothesis.

Shapes: B sentences, K hypotheses, V vocabulary, k continuations.
"""

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

Tensor = Any


def best_continuations(
    logits: Tensor, k: int, forbidden_ids: Sequence[int], banned: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and ids of at least min(k, V) next tokens of each hypothesis, best first.

    A forbidden token stays in the distribution, so that the others keep the model's own probabilities,
    and gets -inf. So does every token of a hypothesis whose logits hold NaN or +inf, or are all -inf.
    Equal logits are ordered by id.

    Args:
        logits: `[B, K, V]`, float.
        k: Number of tokens to find.
        forbidden_ids: Ids that must not be chosen.
        banned: bool of a shape that broadcasts to that of `logits`, others that must not be; None for none.

    Returns:
        float32 `[B, K, k']` and int32 `[B, K, k']`, k' = min(k + number of forbidden ids, V).
    """
    logits = tf.cast(logits, tf.float32)
    # Asking for so many more that k remain takes no pass over the vocabulary, as masking would.
    k += len(forbidden_ids)
    if banned is not None:
        values, tokens = largest(tf.where(banned, -math.inf, logits), k)
        return _usable(values, tokens, tf.reduce_logsumexp(logits, axis=-1, keepdims=True), forbidden_ids)
    values, tokens = largest(logits, k)  # [B, K, k']
    # log sum exp = max - log(softmax of the max): one fused kernel instead of a log-softmax written out.
    top_probability = tf.gather(tf.nn.softmax(logits), tokens[..., :1], batch_dims=2)  # [B, K, 1]
    normalizer = values[..., :1] - tf.math.log(top_probability)  # [B, K, 1]
    return _usable(values, tokens, normalizer, forbidden_ids)


def _usable(
    values: Tensor, tokens: Tensor, normalizer: Tensor, forbidden_ids: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Log-probabilities, -inf for what must not be chosen."""
    usable = tf.math.is_finite(normalizer)
    for token in forbidden_ids:
        usable &= tokens != token
    # No probability is above 1; rounding might say otherwise, and the bound of the search relies on it.
    return tf.where(usable, tf.minimum(values - normalizer, 0.0), -math.inf), tokens


def largest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`tf.math.top_k` over the last axis V, with k cut to V, in less than half its time for large V.

    The k largest entries lie in the k chunks with the largest maxima; finding these reads each entry
    once, in a vectorised maximum, where `top_k` compares one by one.
    """
    size = values.shape[-1]
    if size is None:
        found, ids = tf.math.top_k(values, tf.minimum(k, tf.shape(values)[-1]))
        return found, ids
    k = min(k, size)
    chunk = 2 ** round(math.log2(math.sqrt(size / k)))
    num_chunks = -(-size // chunk)
    if num_chunks < 8 * k:  # a small vocabulary: chunks would save nothing
        found, ids = tf.math.top_k(values, k)
        return found, ids
    if num_chunks * chunk > size:
        padding = [[0, 0]] * (values.shape.rank - 1) + [[0, num_chunks * chunk - size]]
        values = tf.pad(values, padding, constant_values=-math.inf)
    lead = tf.shape(values)[:-1]
    chunks = tf.reshape(values, tf.concat([lead, [num_chunks, chunk]], 0))
    _, chosen = tf.math.top_k(tf.reduce_max(chunks, axis=-1), k)
    chosen = tf.sort(chosen, axis=-1)  # [..., k], in order of ids, which decides between equals
    rank = values.shape.rank - 1
    inside = tf.gather(chunks, chosen, batch_dims=rank)  # [..., k, chunk]
    found, place = tf.math.top_k(tf.reshape(inside, tf.concat([lead, [k * chunk]], 0)), k)
    ids = tf.gather(chosen, place // chunk, batch_dims=rank) * chunk + place % chunk
    return found, tf.minimum(ids, size - 1)  # NaN are in no order: never point into the padding
