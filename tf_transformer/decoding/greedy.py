"""Greedy search over any cached step function: always the likeliest next token.

Shapes: B sentences, V vocabulary, T the largest of the length limits.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tf_transformer.decoding.arguments import Cache, Step, check_ids, limits, loop_shapes
from tf_transformer.decoding.continuations import best_continuations
from tf_transformer.decoding.leaving import any_size, keep, leave
from tf_transformer.decoding.length_penalty import LengthFormula, check_length_penalty, ranking_score
from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.decoding.search_rules import SearchRules

Tensor = Any
_MOVED = ("hypotheses", "shared")


class _State(NamedTuple):
    """One hypothesis a sentence."""

    ids: Tensor  # [B, T]
    length: Tensor  # [B], number of pieces
    log_probability: Tensor  # [B]
    token: Tensor  # [B, 1], the last one
    finished: Tensor  # [B]
    active: Tensor  # [B]


def greedy_search(
    step: Step,
    cache: Cache,
    *,
    batch_size: int | Tensor,
    max_lengths: Tensor,
    start_id: int,
    end_id: int,
    forbidden_ids: Sequence[int] = (),
    length_penalty: float | Tensor = 1.0,
    length_formula: LengthFormula = "mean",
    rules: SearchRules | None = None,
) -> SearchResult:
    """The hypothesis that takes the likeliest token at each position; of equals, that of the least id.

    Args:
        step: As in `beam_search`, called with K = 1.
        cache: As in `beam_search`, for one hypothesis a sentence.
        batch_size: B, also as a tensor; 0 is allowed.
        max_lengths: int32 `[B]` or scalar: the largest number of pieces, the end token not counted.
        start_id: Token that hypotheses start with.
        end_id: Token that ends them.
        forbidden_ids: Tokens never chosen, such as padding and start.
        length_penalty: As in `beam_search`, for the score that is returned; it decides nothing here.
        length_formula: `"mean"` or `"gnmt"`: see `ranking_score`.
        rules: What else the hypotheses must keep to.

    Returns:
        A `SearchResult` with K = 1. A hypothesis that reached its limit first is not `finished`.

    Raises:
        TypeError: If an id or the length penalty is no number.
        ValueError: If one of them is out of range.
    """
    check_ids(start_id, end_id, forbidden_ids)
    check_length_penalty(length_penalty, length_formula)
    rules, max_lengths = (rules or SearchRules()).within(limits(max_lengths, batch_size))  # [B]
    sentences = {"rows": tf.range(tf.shape(max_lengths)[0]), "limits": max_lengths, "rules": rules.tensors}
    sentences |= {name: tf.nest.map_structure(tf.convert_to_tensor, cache[name]) for name in _MOVED}

    def any_active(time: Tensor, own: dict[str, Any], state: _State, kept: _State) -> Tensor:
        return tf.reduce_any(state.active)

    def advance(time: Tensor, own: dict[str, Any], state: _State, kept: _State) -> tuple[Any, ...]:
        logits, grown = step(state.token, {**cache, **{name: own[name] for name in _MOVED}})  # [b, 1, V]
        logits, banned = rules.of(own["rules"]).narrowed(logits, state.ids[:, None], time, end_id)
        best = best_continuations(logits, 1, forbidden_ids, banned)
        state = _advance(state, *best, time, own["limits"], end_id)
        own = {**own, "hypotheses": grown["hypotheses"]}
        return time + 1, *leave(state.active, own, state, kept)[1:]

    first = _first_state(max_lengths, start_id)
    shapes = any_size(sentences)
    grows = loop_shapes(tf.nest.flatten(sentences["hypotheses"]))
    shapes["hypotheses"] = tf.nest.pack_sequence_as(sentences["hypotheses"], grows)
    _, own, state, kept = tf.while_loop(
        any_active,
        advance,
        (tf.constant(0), sentences, first, first),
        shape_invariants=(tf.TensorShape([]), shapes, _state_shapes(), _state_shapes()),
    )
    state = keep(kept, own["rows"], state)
    lengths = state.length + tf.cast(state.finished, tf.int32)  # the end token counts
    totals = state.log_probability[:, None]
    scores = ranking_score(totals, lengths[:, None], length_penalty, length_formula)[:, 0]
    longest = tf.maximum(tf.reduce_max(state.length), 0)
    result = SearchResult(state.ids[:, :longest], lengths, scores, state.log_probability, state.finished)
    return SearchResult(*(part[:, None] for part in result))


def _advance(
    state: _State, gains: Tensor, tokens: Tensor, time: Tensor, max_lengths: Tensor, end_id: int
) -> _State:
    # Gains and tokens are [B, 1, k].
    place = tf.argmax(gains, axis=-1, output_type=tf.int32)  # [B, 1], the first that is not forbidden
    gain = tf.gather(gains, place, batch_dims=2)[:, 0]  # [B]
    token = tf.gather(tokens, place, batch_dims=2)  # [B, 1]

    ended = state.active & (token[:, 0] == end_id) & (gain > -math.inf)
    goes_on = state.active & ~ended & (time < max_lengths) & (gain > -math.inf)
    column = tf.range(tf.shape(state.ids)[1]) == time  # [T]
    return _State(
        ids=tf.where(goes_on[:, None] & column, token, state.ids),
        length=state.length + tf.cast(goes_on, tf.int32),
        log_probability=tf.where(ended | goes_on, state.log_probability + gain, state.log_probability),
        token=token,
        finished=state.finished | ended,
        active=goes_on,
    )


def _first_state(max_lengths: Tensor, start_id: int) -> _State:
    none = tf.zeros_like(max_lengths)  # [B]
    longest = tf.maximum(tf.reduce_max(max_lengths), 0)  # T; the maximum over no sentence is negative
    return _State(
        ids=tf.zeros(tf.concat([tf.shape(none), [longest]], 0), tf.int32),
        length=none,
        log_probability=tf.cast(none, tf.float32),
        token=tf.fill(tf.concat([tf.shape(none), [1]], 0), start_id),
        finished=none > 0,
        active=none == 0,
    )


def _state_shapes() -> _State:
    sentences = tf.TensorShape([None])
    return _State(
        tf.TensorShape([None, None]), sentences, sentences, tf.TensorShape([None, 1]), sentences, sentences
    )
