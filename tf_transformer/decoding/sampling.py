"""Texts that go on at random from what they begin with, by any cached step function.

Shapes: B texts, K samples, P places of the longest prompt, N of the longest text, V vocabulary.

`sample` loops in the graph. Who wants each token as it comes calls `Sampler.begin` and `advance` instead,
which is what the loop does. All texts of a batch are at the same place at the same time: where one still
reads its prompt, its tokens are forced. Random numbers belong to the place in a text (`random_numbers`), so a
text does not depend on its neighbours, and a prompt that is longer by what was drawn goes on the same way.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.decoding.arguments import Cache, Step, check_ids, loop_shapes
from tf_transformer.decoding.drawing import (
    completing_tokens,
    draw_tokens,
    penalize_repetition,
    seen_tokens,
    token_log_probabilities,
    without,
)
from tf_transformer.decoding.length_penalty import ranking_score
from tf_transformer.decoding.random_numbers import uniform_numbers
from tf_transformer.decoding.search_result import SearchResult

Tensor = Any


class Request(NamedTuple):
    """What is to be continued, and how; tensors, so that one graph serves all.

    Attributes:
        prompts: int32 `[B, P]`, the tokens that texts begin with, without the start token, padded with 0.
        prompt_lengths: int32 `[B]`.
        max_lengths: int32 `[B]`, the most tokens after the prompt, the end token not counted.
        seeds: int64 `[B]`, any numbers.
        temperature: float32 `[B]`, at least 0, which is greedy.
        top_k: int32 `[B]`, 0 for all tokens.
        top_p: float32 `[B]`, above 0 and at most 1, which is all tokens.
    """

    prompts: Tensor
    prompt_lengths: Tensor
    max_lengths: Tensor
    seeds: Tensor
    temperature: Tensor
    top_k: Tensor
    top_p: Tensor


class SamplingState(NamedTuple):
    """Texts on their way.

    Attributes:
        place: int32 scalar, the place of `token` in the texts; 0 is that of the start token.
        ids: int32 `[B, K, N]`, prompts and what follows them, without the start token.
        token: int32 `[B, K]`, the token that is read next.
        lengths: int32 `[B, K]`, tokens after the prompt, the end token not counted.
        log_probabilities: float32 `[B, K]`, of those tokens and the end token.
        finished: bool `[B, K]`, whether the end token came.
        active: bool `[B, K]`, whether the text goes on.
        cache: What the step function has read.
    """

    place: Tensor
    ids: Tensor
    token: Tensor
    lengths: Tensor
    log_probabilities: Tensor
    finished: Tensor
    active: Tensor
    cache: Cache


class Sampler:
    """Draws one token after the other.

    In this order: tokens that were there before, prompt included, are made less likely; what would repeat
    tokens in a row, and what is forbidden, gets no probability; then temperature, `top_k` and `top_p` of the
    request (see `draw_tokens`). The log-probabilities are the model's own, before any of that. A text for
    which nothing is left to draw ends there, unfinished.

    Args:
        step: As in `beam_search`.
        start_id: The token that texts start with.
        end_id: The token that ends them, or None where they have no end.
        forbidden_ids: Tokens never drawn, such as padding and start; in a prompt they may stand.
        repetition_penalty: See `penalize_repetition`; 1 for none.
        no_repeat: So many tokens in a row never come twice in a text; 0 for no such rule.
        min_lengths: int32 `[B]`, no text ends before so many tokens follow its prompt; None for none.
        whole: Whether the prompt belongs to the answer: to its ids, length and log-probability.

    Raises:
        TypeError: If an id or an option is no number.
        ValueError: If one of them is out of range.
    """

    def __init__(
        self,
        step: Step,
        *,
        start_id: int,
        end_id: int | None,
        forbidden_ids: Sequence[int] = (),
        repetition_penalty: float = 1.0,
        no_repeat: int = 0,
        min_lengths: Tensor | None = None,
        whole: bool = False,
    ) -> None:
        if end_id is None:
            whole_number("start_id", start_id, 0)
        else:
            check_ids(start_id, end_id, forbidden_ids)
        self.step = step
        self.start_id = start_id
        self.end_id = end_id
        self.forbidden_ids = tuple(forbidden_ids)
        self.repetition_penalty = finite_number("repetition_penalty", repetition_penalty, 0.0)
        self.no_repeat = whole_number("no_repeat", no_repeat, 0)
        self.min_lengths = min_lengths
        self.whole = whole
        if self.repetition_penalty == 0.0:
            raise ValueError("`repetition_penalty` must be more than 0. Received: 0.0")

    def begin(
        self, request: Request, cache: Cache, num_samples: int | Tensor, taken: int | Tensor = 0
    ) -> SamplingState:
        """The texts before the first draw.

        Args:
            request: What is to be continued.
            cache: As in `beam_search`, for K hypotheses a text.
            num_samples: K.
            taken: How many tokens of every text, the start token among them, the cache has read; no more
                than the shortest prompt has.
        """
        limits = tf.maximum(request.max_lengths, 0)
        batch_size = tf.shape(limits)[0]
        shape = tf.stack([batch_size, num_samples])
        longest = tf.reduce_max(request.prompt_lengths + limits)  # negative over no text
        read = tf.shape(request.prompts)[1]
        room = tf.maximum(tf.maximum(longest, read), 1) - read  # a place at least, to look at
        ids = tf.pad(request.prompts, [[0, 0], [0, room]])[:, None, :]  # [B, 1, N]
        ids = tf.broadcast_to(ids, [batch_size, num_samples, tf.shape(ids)[2]])
        starts = tf.fill(tf.stack([batch_size, 1]), self.start_id)
        token = tf.gather(tf.concat([starts, request.prompts], axis=1), taken, axis=1)  # [B]
        none = tf.zeros(shape, tf.int32)
        return SamplingState(
            place=tf.convert_to_tensor(taken, tf.int32),
            ids=ids,
            token=tf.broadcast_to(token[:, None], shape),
            lengths=none,
            log_probabilities=tf.cast(none, tf.float32),
            finished=none > 0,
            active=none == 0,
            cache=tf.nest.map_structure(tf.convert_to_tensor, cache),
        )

    def advance(self, request: Request, state: SamplingState) -> SamplingState:
        """The texts one token later."""
        logits, cache = self.step(state.token, state.cache)
        logits = tf.cast(logits, tf.float32)  # [B, K, V]
        drawn, drawable = self._draw(request, state, logits)
        forced = (state.place < request.prompt_lengths)[:, None]  # [B, 1]
        given = tf.gather(state.ids, tf.minimum(state.place, tf.shape(state.ids)[2] - 1), axis=2)
        token = tf.where(forced, given, drawn)
        gains = token_log_probabilities(logits, token)

        ends = tf.zeros_like(drawable) if self.end_id is None else drawn == self.end_id
        may = state.active & drawable & ~forced
        ended = may & ends
        within = (state.place - request.prompt_lengths < request.max_lengths)[:, None]
        grows = may & ~ends & within
        counts = grows | (state.active & forced) if self.whole else grows
        here = (
            tf.range(tf.shape(state.ids)[2]) == state.place
        )  # no slicing by the counter, which XLA takes ill
        return SamplingState(
            place=state.place + 1,
            ids=tf.where(grows[..., None] & here, token[..., None], state.ids),
            token=token,
            lengths=state.lengths + tf.cast(counts, tf.int32),
            log_probabilities=tf.where(
                ended | counts, state.log_probabilities + gains, state.log_probabilities
            ),
            finished=state.finished | ended,
            active=grows | (state.active & forced),
            cache=cache,
        )

    def _draw(self, request: Request, state: SamplingState, logits: Tensor) -> tuple[Tensor, Tensor]:
        size = logits.shape[-1] or tf.shape(logits)[-1]
        allowed = logits
        if self.repetition_penalty != 1.0:
            seen = seen_tokens(state.ids, state.place, size)
            allowed = penalize_repetition(allowed, seen, self.repetition_penalty)
        if self.no_repeat:
            allowed = without(allowed, completing_tokens(state.ids, state.place, self.no_repeat, size))
        if self.min_lengths is not None and self.end_id is not None:
            short = state.place < request.prompt_lengths + tf.minimum(self.min_lengths, request.max_lengths)
            allowed = without(allowed, short[:, None, None] & (tf.range(size) == self.end_id))
        if self.forbidden_ids:
            forbidden = tf.reduce_any(tf.range(size)[:, None] == tf.constant(self.forbidden_ids), axis=1)
            allowed = without(allowed, forbidden)
        numbers = uniform_numbers(request.seeds, tf.shape(state.token)[1], state.place)
        return draw_tokens(allowed, numbers, request.temperature, request.top_k, request.top_p)

    def result(self, request: Request, state: SamplingState) -> SearchResult:
        """What was drawn, without the prompts unless they belong to it."""
        longest = tf.maximum(tf.reduce_max(state.lengths), 0)
        first = tf.zeros_like(request.prompt_lengths) if self.whole else request.prompt_lengths
        places = first[:, None] + tf.range(longest)  # [B, T]
        places = tf.minimum(places, tf.shape(state.ids)[2] - 1)
        ids = tf.gather(tf.transpose(state.ids, [0, 2, 1]), places, batch_dims=1)  # [B, T, K]
        ids = tf.transpose(ids, [0, 2, 1])
        ids = tf.where(tf.range(longest) < state.lengths[..., None], ids, 0)
        lengths = state.lengths + tf.cast(state.finished, tf.int32)  # the end token counts
        scores = ranking_score(state.log_probabilities, lengths, 1.0, "mean")
        return SearchResult(ids, lengths, scores, state.log_probabilities, state.finished)


def state_shapes(first: SamplingState) -> SamplingState:
    """What shapes a state has later on, given the first one or the specifications of its tensors."""
    pairs, rows = tf.TensorShape([None, None]), tf.TensorShape([None, None, None])
    grows = loop_shapes(tf.nest.flatten(first.cache["hypotheses"]))
    cache = {
        **tf.nest.map_structure(lambda leaf: leaf.shape, first.cache),
        "hypotheses": tf.nest.pack_sequence_as(first.cache["hypotheses"], grows),
    }
    return SamplingState(tf.TensorShape([]), rows, pairs, pairs, pairs, pairs, pairs, cache)


def sample(
    step: Step,
    cache: Cache,
    request: Request,
    *,
    num_samples: int | Tensor = 1,
    taken: int | Tensor = 0,
    **rules: Any,
) -> SearchResult:
    """Continues texts at random.

    Args:
        step: As in `beam_search`.
        cache: As in `beam_search`, for K hypotheses a text.
        request: What is to be continued, and how.
        num_samples: K, the continuations of each text. The first ones do not depend on how many follow.
        taken: See `Sampler.begin`.
        **rules: The arguments of `Sampler` from `start_id` on.

    Returns:
        A `SearchResult` of what follows the prompts, in the order of drawing. The score is the mean
        log-probability of a token.

    Raises:
        TypeError: If an id or an option is no number.
        ValueError: If one of them is out of range.
    """
    sampler = Sampler(step, **rules)
    first = sampler.begin(request, cache, num_samples, taken)
    state = tf.while_loop(
        lambda state: tf.reduce_any(state.active),
        lambda state: (sampler.advance(request, state),),
        (first,),
        shape_invariants=(state_shapes(first),),
    )[0]
    return sampler.result(request, state)
