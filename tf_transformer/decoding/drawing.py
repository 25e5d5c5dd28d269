"""One token out of a distribution: what may be drawn, how likely, and the draw itself.

Shapes: B texts, K samples, V vocabulary, N places of a text.
"""

import math
from typing import Any

import tensorflow as tf

Tensor = Any


def draw_tokens(
    logits: Tensor, numbers: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor
) -> tuple[Tensor, Tensor]:
    """Draws one token for each text and sample.

    The tokens are sorted by their logits, equal ones by id. Of the `top_k` first ones (Fan et al., 2018,
    "Hierarchical Neural Story Generation"), with probabilities `softmax(logits / temperature)`, those are
    kept that begin before a share `top_p` of the probability is reached: the smallest set that has it
    ("The Curious Case of Neural Text Degeneration", Holtzman et al., 2020). Among these the number decides.

    Args:
        logits: float32 `[B, K, V]`; -inf where a token may not be drawn.
        numbers: float32 `[B, K]` from [0, 1).
        temperature: float32 `[B]`, at least 0; 0 takes the likeliest token.
        top_k: int32 `[B]`; 0 for all tokens.
        top_p: float32 `[B]`, above 0; from 1 on for all tokens.

    Returns:
        The tokens, int32 `[B, K]`; and bool `[B, K]`, whether there was one to draw: not where all logits are
        -inf, or one is NaN or +inf.
    """
    values, ids = tf.math.top_k(logits, tf.shape(logits)[-1])  # [B, K, V]
    ranks = tf.range(tf.shape(values)[-1])
    greedy = temperature <= 0.0
    allowed = tf.where(greedy, 1, tf.where(top_k > 0, top_k, tf.int32.max))  # [B]
    scale = tf.where(greedy, 1.0, temperature)[:, None, None]
    # Less the greatest, before anything is divided: a small temperature must not overflow.
    scaled = (values - values[..., :1]) / scale
    probabilities = tf.nn.softmax(tf.where(ranks < allowed[:, None, None], scaled, -math.inf))
    before = tf.cumsum(probabilities, axis=-1, exclusive=True)
    # The sum may be rounded to 1 before the last token, so all of them is a case by itself.
    kept = (before < top_p[:, None, None]) | (top_p[:, None, None] >= 1.0) | (ranks == 0)
    weights = tf.where(kept, probabilities, 0.0)
    reached = tf.cumsum(weights, axis=-1)
    passed = reached <= numbers[..., None] * reached[..., -1:]
    # Rounding must not lead beyond the last token that has a weight.
    last = tf.math.count_nonzero(weights > 0.0, axis=-1, dtype=tf.int32) - 1
    place = tf.minimum(tf.math.count_nonzero(passed, axis=-1, dtype=tf.int32), tf.maximum(last, 0))
    drawable = tf.math.is_finite(tf.reduce_logsumexp(logits, axis=-1))
    return tf.gather(ids, place, batch_dims=2), drawable


def token_log_probabilities(logits: Tensor, tokens: Tensor) -> Tensor:
    """The log-probabilities `[B, K]` of tokens `[B, K]` by the model itself, logits `[B, K, V]`."""
    return tf.gather(tf.nn.log_softmax(logits), tokens, batch_dims=2)


def without(logits: Tensor, banned: Tensor) -> Tensor:
    """Logits of -inf where `banned` is true; it is of a shape that broadcasts."""
    return tf.where(banned, -math.inf, logits)


def penalize_repetition(logits: Tensor, seen: Tensor, penalty: float | Tensor) -> Tensor:
    """Makes tokens that were there before less likely.

    Their positive logits are divided by the penalty, negative ones multiplied with it: "CTRL: A Conditional
    Transformer Language Model for Controllable Generation" (Keskar et al., 2019), section 4.1, extended to
    logits below 0 as is usual.

    Args:
        logits: float32 `[B, K, V]`.
        seen: bool `[B, K, V]`.
        penalty: At least 1 for less repetition; 1 changes nothing. A number, or a tensor that broadcasts.
    """
    penalized = tf.where(logits > 0.0, logits / penalty, logits * penalty)
    return tf.where(seen, penalized, logits)


def seen_tokens(ids: Tensor, length: Tensor, vocabulary_size: Tensor) -> Tensor:
    """Which tokens are among the first `length` of each text: int32 `[B, K, N]` -> bool `[B, K, V]`."""
    known = tf.range(tf.shape(ids)[-1]) < length
    return _marked(ids, tf.broadcast_to(known, tf.shape(ids)), vocabulary_size)


def completing_tokens(ids: Tensor, length: Tensor, size: int, vocabulary_size: Tensor) -> Tensor:
    """Which tokens, coming next, would complete `size` tokens in a row that were there before.

    Args:
        ids: int32 `[B, K, N]`.
        length: int32 scalar, how many of the N places are filled.
        size: The number n of tokens in a row, at least 1.
        vocabulary_size: V.

    Returns:
        bool `[B, K, V]`.
    """
    places = tf.range(tf.shape(ids)[-1])  # of the last token of a row of n
    matches = tf.broadcast_to((places >= size - 1) & (places < length), tf.shape(ids))
    for back in range(1, size):
        earlier = tf.gather(ids, tf.maximum(places - back, 0), axis=-1)
        newest = tf.gather(ids, tf.maximum(length - back, 0), axis=-1)
        matches &= (earlier == newest[..., None]) & (length >= back)
    return _marked(ids, matches, vocabulary_size)


def _marked(ids: Tensor, chosen: Tensor, vocabulary_size: Tensor) -> Tensor:
    """The tokens at chosen places: int32 and bool `[B, K, N]` -> bool `[B, K, V]`."""
    shape = tf.shape(ids)
    num_texts = shape[0] * shape[1]
    # What is not chosen goes into a column of its own, which is dropped.
    columns = tf.reshape(tf.where(chosen, ids, vocabulary_size), [num_texts, shape[2]])
    rows = tf.broadcast_to(tf.range(num_texts)[:, None], tf.shape(columns))
    counts = tf.scatter_nd(
        tf.stack([rows, columns], axis=-1),
        tf.ones_like(columns),
        [num_texts, vocabulary_size + 1],
    )
    return tf.reshape(counts[:, :vocabulary_size] > 0, [shape[0], shape[1], vocabulary_size])
