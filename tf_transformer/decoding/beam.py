"""Beam search over any cached step function, in one `tf.while_loop`.

Shapes: B sentences, K hypotheses (beam size), V vocabulary, T the largest of the length limits.

Each step extends every live hypothesis and keeps the K likeliest extensions of a sentence. Those that
end with the end token leave the beam for the finished ones, which are ranked by score and never touched
again; the others stay live. A sentence is over when

- nothing is live any more, or
- nothing live can still reach the `num_results` best finished ones: a log-probability only falls and the
  score of a given one only grows with the length, so no descendant of a live hypothesis scores better
  than the hypothesis itself would at the greatest length (this holds for every formula), or
- its limit is reached: what is live then was cut and counts only where finished hypotheses are missing.

What is done to a sentence depends on nothing but its own logits, so its answer is the same in any batch.
Those that are over leave the batch, see `leaving`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tf_transformer.decoding.arguments import Cache, Step, check_ids, check_sizes, limits, loop_shapes
from tf_transformer.decoding.continuations import best_continuations
from tf_transformer.decoding.leaving import any_size, keep, leave
from tf_transformer.decoding.length_penalty import LengthFormula, check_length_penalty, ranking_score
from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.decoding.search_rules import SearchRules

Tensor = Any


class _Live(NamedTuple):
    """Hypotheses that may be extended; those with a log-probability of -inf are empty places."""

    ids: Tensor  # [B, K, T]
    log_probabilities: Tensor  # [B, K], best first
    tokens: Tensor  # [B, K], the last token of each
    length: Tensor  # [B], number of pieces of each


class _Extensions(NamedTuple):
    """The K likeliest extensions of a sentence, best first."""

    log_probabilities: Tensor  # [B, K]
    parents: Tensor  # [B, K], places in the beam before
    tokens: Tensor  # [B, K]


def beam_search(
    step: Step,
    cache: Cache,
    *,
    batch_size: int | Tensor,
    beam_size: int,
    max_lengths: Tensor,
    start_id: int,
    end_id: int,
    forbidden_ids: Sequence[int] = (),
    length_penalty: float | Tensor = 1.0,
    length_formula: LengthFormula = "mean",
    num_results: int | Tensor | None = None,
    rules: SearchRules | None = None,
    extra: Callable[[Any], Tensor] | None = None,
) -> SearchResult:
    """The best finished hypotheses of each sentence that a beam of `beam_size` meets.

    A beam of 1 is greedy search. A beam that holds every sequence finds the best of all.

    Args:
        step: `step(ids [B, K] int32, cache) -> (logits [B, K, V], cache)`, called with the last token of
            each hypothesis.
        cache: `{"hypotheses": ..., "shared": ...}`, each a nest of tensors. Those of the hypotheses are
            `[B, K, ..., t, d]`, of which t may grow, and are reordered when hypotheses are; the shared
            ones, `[B, ...]`, belong to the sentences. Rows of both leave when a sentence is over. Anything
            else is passed on as it is.
        batch_size: B, also as a tensor; 0 is allowed.
        beam_size: K, at most `presets.MOST_HYPOTHESES`.
        max_lengths: int32 `[B]` or scalar: the largest number of pieces. The end token is not counted, so
            it may still follow the last of them.
        start_id: Token that hypotheses start with.
        end_id: Token that ends them.
        forbidden_ids: Tokens never chosen, such as padding and start.
        length_penalty: Exponent of the length in the score, a number or float32 `[B, 1]`; 0 ranks by
            probability.
        length_formula: `"mean"` or `"gnmt"`: see `ranking_score`.
        num_results: How many hypotheses to return, at most and by default K; also an int32 scalar. The search
            of a sentence ends as soon as these are settled, and with fewer it ends sooner. The best does not
            depend on it.
        rules: What else the hypotheses must keep to.
        extra: What is added to the score of those that end, float32 `[B, K]` and never above 0: a function of
            `cache["hypotheses"]` after their last step.

    Returns:
        A `SearchResult` with `num_results` different hypotheses a sentence, best first.

    Raises:
        TypeError: If a size, an id, or the length penalty is no number.
        ValueError: If one of them is out of range.
    """
    beam_size, num_results = check_sizes(beam_size, num_results)
    check_ids(start_id, end_id, forbidden_ids)
    check_length_penalty(length_penalty, length_formula)
    rules, max_lengths = (rules or SearchRules()).within(limits(max_lengths, batch_size))  # [B]
    longest = tf.maximum(tf.reduce_max(max_lengths), 0)  # T; the maximum over no sentence is negative
    shape = tf.stack([batch_size, beam_size])
    leaves = [tf.convert_to_tensor(leaf) for leaf in tf.nest.flatten(cache["hypotheses"])]
    sentences = {"rows": tf.range(shape[0]), "limits": max_lengths, "rules": rules.tensors}
    sentences["shared"] = tf.nest.map_structure(tf.convert_to_tensor, cache["shared"])
    if tf.is_tensor(length_penalty):
        sentences["length_penalty"] = length_penalty

    def any_active(time: Tensor, active: Tensor, *_: Any) -> Tensor:
        return tf.reduce_any(active)

    def advance(
        time: Tensor, active: Tensor, own: dict[str, Any], found: Any, kept: Any, leaves: list[Tensor]
    ) -> tuple[Any, ...]:
        (live, pool), penalty = found, own.get("length_penalty", length_penalty)
        hypotheses = tf.nest.pack_sequence_as(cache["hypotheses"], leaves)
        state = {**cache, "hypotheses": hypotheses, "shared": own["shared"]}
        logits, grown = step(live.tokens, state)  # [b, K, V]
        logits, banned = rules.of(own["rules"]).narrowed(logits, live.ids, time, end_id)
        extensions = _extend(live, logits, forbidden_ids, banned, rules.diversity)
        possible = extensions.log_probabilities > -math.inf  # [b, K]
        ended = possible & (extensions.tokens == end_id) & active[:, None]

        length = time + 1  # the pieces before, and the end token
        scores = ranking_score(extensions.log_probabilities, length, penalty, length_formula)
        if extra is not None:
            scores += tf.gather(extra(grown["hypotheses"]), extensions.parents, batch_dims=1)
        pool = _add_finished(pool, live, extensions, ended, scores, length)
        # At its limit, or without any extension of a finite probability, a sentence keeps what it has.
        cut = (time >= own["limits"]) | ~tf.reduce_any(possible, axis=-1)  # [b]
        live = _next_live(live, extensions, ended, time, keep=cut | ~active)
        # Reachable at best: no further loss of probability, at the greatest length, the end token counted.
        likeliest = tf.reduce_max(live.log_probabilities, axis=-1, keepdims=True)
        reachable = ranking_score(likeliest, own["limits"][:, None] + 1, penalty, length_formula)
        active &= ~cut & (reachable[:, 0] > pool.scores[:, num_results - 1])  # [b]
        stay, own, found, kept = leave(active, own, (live, pool), kept)
        # Of each sentence that stays, the hypotheses that its extensions extend.
        parents = tf.gather(extensions.parents, stay)  # [b', K]
        origins = tf.stack([tf.broadcast_to(stay[:, None], tf.shape(parents)), parents], axis=-1)
        leaves = [tf.gather_nd(leaf, origins) for leaf in tf.nest.flatten(grown["hypotheses"])]
        return time + 1, tf.gather(active, stay), own, found, kept, leaves

    first = _first_live(shape, longest, start_id), _empty_pool(shape, longest)
    start = (tf.constant(0), tf.ones(shape[:1], tf.bool), sentences, first, first, leaves)
    places, sequences = tf.TensorShape([None, beam_size]), tf.TensorShape([None, beam_size, None])
    shapes = (
        _Live(sequences, places, places, tf.TensorShape([None])),
        SearchResult(sequences, places, places, places, places),
    )
    invariants = (tf.TensorShape([]), tf.TensorShape([None]), any_size(sentences), shapes, shapes)
    _, _, own, found, kept, _ = tf.while_loop(
        any_active, advance, start, shape_invariants=(*invariants, loop_shapes(leaves))
    )
    live, pool = keep(kept, own["rows"], found)
    cut_short = _as_result(live, length_penalty, length_formula)
    return _best_of_both(pool, cut_short, num_results)


def _extend(
    live: _Live, logits: Tensor, forbidden_ids: Sequence[int], banned: Tensor | None, diversity: float
) -> _Extensions:
    """The K likeliest of all K * V extensions; of one hypothesis no more than K can be among them."""
    beam_size = live.tokens.shape[1]
    gains, tokens = best_continuations(logits, beam_size, forbidden_ids, banned)  # [B, K, k]
    totals = live.log_probabilities[:, :, None] + gains  # [B, K, k]
    k = tf.shape(totals)[2]
    flat = tf.stack([tf.shape(totals)[0], beam_size * k])
    if diversity:
        rank = tf.cumsum(tf.cast(gains > -math.inf, tf.float32), axis=-1, exclusive=True)
        _, places = tf.math.top_k(tf.reshape(totals - diversity * rank, flat), beam_size)  # [B, K]
        best = tf.gather(tf.reshape(totals, flat), places, batch_dims=1)
    else:
        best, places = tf.math.top_k(tf.reshape(totals, flat), beam_size)  # [B, K]
    tokens = tf.gather(tf.reshape(tokens, flat), places, batch_dims=1)
    return _Extensions(best, places // k, tokens)


def _next_live(live: _Live, extensions: _Extensions, ended: Tensor, time: Tensor, keep: Tensor) -> _Live:
    """Live hypotheses after a step: the extensions that did not end; where `keep`, those before it."""
    beam_size = live.tokens.shape[1]
    column = tf.range(tf.shape(live.ids)[2]) == time  # [T]; no slicing by the counter, which XLA takes ill
    ids = tf.gather(live.ids, extensions.parents, batch_dims=1)  # [B, K, T]
    ids = tf.where(column, extensions.tokens[:, :, None], ids)
    log_probabilities = tf.where(ended, -math.inf, extensions.log_probabilities)
    # A hypothesis that has just ended must not appear a second time as one that was cut.
    is_parent = extensions.parents[:, :, None] == tf.range(beam_size)  # [B, K extensions, K parents]
    has_ended = tf.reduce_any(ended[:, :, None] & is_parent, axis=1)  # [B, K]
    kept = tf.where(has_ended, -math.inf, live.log_probabilities)
    return _Live(
        tf.where(keep[:, None, None], live.ids, ids),
        tf.where(keep[:, None], kept, log_probabilities),
        extensions.tokens,
        tf.where(keep, live.length, time + 1),
    )


def _add_finished(
    pool: SearchResult,
    live: _Live,
    extensions: _Extensions,
    ended: Tensor,
    scores: Tensor,
    length: Tensor,
) -> SearchResult:
    """The best K of those finished before and those that ended now, earlier ones first among equals."""
    newly = SearchResult(
        ids=tf.gather(live.ids, extensions.parents, batch_dims=1),
        lengths=tf.where(ended, length, 0),
        scores=tf.where(ended, scores, -math.inf),
        log_probabilities=tf.where(ended, extensions.log_probabilities, -math.inf),
        finished=ended,
    )
    both = SearchResult(*(tf.concat(pair, axis=1) for pair in zip(pool, newly, strict=True)))  # [B, 2 K, ...]
    _, places = tf.math.top_k(both.scores, pool.scores.shape[1])
    return SearchResult(*(tf.gather(part, places, batch_dims=1) for part in both))


def _as_result(live: _Live, length_penalty: float | Tensor, length_formula: LengthFormula) -> SearchResult:
    """Live hypotheses that were cut, as results that did not finish."""
    exists = live.log_probabilities > -math.inf
    lengths = tf.where(exists, live.length[:, None], 0)
    scores = ranking_score(live.log_probabilities, lengths, length_penalty, length_formula)
    return SearchResult(live.ids, lengths, scores, live.log_probabilities, tf.zeros_like(exists))


def _best_of_both(pool: SearchResult, cut_short: SearchResult, num_results: int | Tensor) -> SearchResult:
    """Finished ones, then those cut, then empty places; ids cut to the longest hypothesis returned."""
    both = SearchResult(*(tf.concat(pair, axis=1) for pair in zip(pool, cut_short, strict=True)))  # [B, 2 K]
    exists = tf.cast(both.scores > -math.inf, tf.int32)
    # Both halves are sorted, and equals keep their order.
    _, places = tf.math.top_k(exists + tf.cast(both.finished, tf.int32), num_results)
    best = SearchResult(*(tf.gather(part, places, batch_dims=1) for part in both))
    pieces = best.lengths - tf.cast(best.finished, tf.int32)  # [B, num_results]
    longest = tf.maximum(tf.reduce_max(pieces), 0)
    ids = tf.where(tf.range(tf.shape(best.ids)[2]) < pieces[:, :, None], best.ids, 0)
    return best._replace(ids=ids[:, :, :longest])


def _first_live(shape: Tensor, longest: Tensor, start_id: int) -> _Live:
    # All places hold the same start; but one is taken, or the beam would fill with equals.
    first = tf.where(tf.range(shape[1]) == 0, 0.0, -math.inf)  # [K]
    return _Live(
        tf.zeros(tf.concat([shape, [longest]], 0), tf.int32),
        tf.broadcast_to(first, shape),
        tf.fill(shape, start_id),
        tf.zeros(shape[:1], tf.int32),
    )


def _empty_pool(shape: Tensor, longest: Tensor) -> SearchResult:
    return SearchResult(
        ids=tf.zeros(tf.concat([shape, [longest]], 0), tf.int32),
        lengths=tf.zeros(shape, tf.int32),
        scores=tf.fill(shape, -math.inf),
        log_probabilities=tf.fill(shape, -math.inf),
        finished=tf.zeros(shape, tf.bool),
    )
