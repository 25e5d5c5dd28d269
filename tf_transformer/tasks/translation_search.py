"""The search behind a translator: from source ids to hypotheses, inside any graph.

Shapes: B sentences, S source pieces, K hypotheses, P pieces of the longest prefix.
"""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tf_transformer.decoding.beam import beam_search
from tf_transformer.decoding.greedy import greedy_search
from tf_transformer.decoding.sampling import Request, sample
from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.decoding.search_rules import SearchRules
from tf_transformer.presets import END_ID, LONGEST_ANSWER, PAD_ID, START_ID
from tf_transformer.tasks.options import SearchOptions
from tf_transformer.tasks.piece_rules import banned_ids
from tf_transformer.text import Preprocessor

Given = Mapping[str, tf.Tensor]
"""What sentences have of their own, by the names of `GIVEN`."""
GIVEN: dict[str, tf.TensorSpec] = {
    "prefixes": tf.TensorSpec([None, None], tf.int32),
    "prefix_lengths": tf.TensorSpec([None], tf.int32),
    "min_lengths": tf.TensorSpec([None], tf.int32),
    "max_lengths": tf.TensorSpec([None], tf.int32),
    "length_penalty": tf.TensorSpec([None], tf.float32),
    "repetition_penalty": tf.TensorSpec([None], tf.float32),
    "seeds": tf.TensorSpec([None], tf.int64),
    "temperature": tf.TensorSpec([None], tf.float32),
    "top_k": tf.TensorSpec([None], tf.int32),
    "top_p": tf.TensorSpec([None], tf.float32),
}
"""What sentences may have of their own: prefixes `[B, P]` with their lengths, seeds; and, in place of what
the options say, lengths (below 0: what they say), penalties, and how to draw."""
_LENGTHS = 4
"""Sources are padded to a multiple of it."""


class TranslationSearch:
    """One way to search, of one model.

    Args:
        model: See `Translator`.
        preprocessor: See `Translator`.
        options: How to search.
    """

    def __init__(self, model: Any, preprocessor: Preprocessor, options: SearchOptions) -> None:
        self.model = model
        self.preprocessor = preprocessor
        self.options = options
        self.banned = banned_ids(options.banned, preprocessor.encode_target)

    def search(self, source_ids: tf.Tensor, num_results: int | tf.Tensor, given: Given) -> SearchResult:
        """Searches a batch.

        A source without a piece has nothing to translate: it is not searched for, and all its hypotheses are
        empty and finished, whatever the model would say.

        Args:
            source_ids: ``[B, S]`` int32, zero-padded, each row with its end token.
            num_results: Hypotheses to find for each, at most the beam.
            given: What the sentences have of their own.
        """
        source_ids = self._padded(source_ids)
        has_pieces = num_pieces(self.preprocessor, source_ids) > 0  # [B]
        own = {name: tf.boolean_mask(value, has_pieces) for name, value in given.items()}
        result = self._search(tf.boolean_mask(source_ids, has_pieces), num_results, own)
        # Row 0 is the empty answer; those that were searched for follow in their order.
        places = tf.where(has_pieces, tf.cumsum(tf.cast(has_pieces, tf.int32)), 0)
        with_empty = [
            tf.pad(part, [[1, 0]] + [[0, 0]] * (part.shape.rank - 1), constant_values=part.dtype == tf.bool)
            for part in result
        ]
        return SearchResult(*(tf.gather(part, places) for part in with_empty))

    def _padded(self, source_ids: tf.Tensor) -> tf.Tensor:
        """Few lengths, for the reason that batches have few sizes: see `decoding.leaving`."""
        length = tf.shape(source_ids)[1]
        room = -length % _LENGTHS
        if self.model.max_length is not None:
            room = tf.clip_by_value(self.model.max_length - length, 0, room)
        return tf.pad(source_ids, [[0, 0], [0, room]])

    def _search(self, source_ids: tf.Tensor, num_results: int | tf.Tensor, given: Given) -> SearchResult:
        options = self.options
        memory = self.model.encode(source_ids, training=False)
        if options.sample:
            return self._sampled(source_ids, memory, num_results, given)
        cache = self.model.start_cache(memory, num_hypotheses=options.beam_size)
        length_penalty: Any = options.length_penalty
        if "length_penalty" in given:
            length_penalty = given["length_penalty"][:, tf.newaxis]
        common: dict[str, Any] = {
            "batch_size": tf.shape(source_ids)[0],
            "max_lengths": self._max_lengths(source_ids, given),
            "start_id": START_ID,
            "end_id": END_ID,
            "forbidden_ids": self.forbidden_ids,
            "length_penalty": length_penalty,
            "length_formula": options.length_formula,
            "rules": self._rules(source_ids, given),
        }
        if options.beam_size == 1:
            return greedy_search(self.model.step, cache, **common)
        common |= {"beam_size": options.beam_size, "num_results": num_results}
        if not options.coverage_penalty:
            return beam_search(self.model.step, cache, **common)
        # At padding it is as if all had been seen, which costs nothing.
        attended = tf.cast(source_ids == PAD_ID, tf.float32)[:, tf.newaxis, tf.newaxis]  # [B, 1, 1, S]
        attended = tf.repeat(attended, options.beam_size, axis=1)
        cache["hypotheses"] = {"model": cache["hypotheses"], "attended": attended}
        return beam_search(self._covering_step, cache, extra=self._coverage, **common)

    def _covering_step(self, ids: tf.Tensor, cache: dict[str, Any]) -> tuple[tf.Tensor, dict[str, Any]]:
        """A step that sums up, for each hypothesis, the attention that each source piece got."""
        before = cache["hypotheses"]
        inner = {**cache, "hypotheses": before["model"]}
        logits, attention, inner = self.model.attending_step(ids, inner)
        attended = before["attended"] + attention[:, :, tf.newaxis]
        return logits, {**inner, "hypotheses": {"model": inner["hypotheses"], "attended": attended}}

    def _coverage(self, hypotheses: dict[str, Any]) -> tf.Tensor:
        """What is added to scores: equation 14 of "Google's Neural Machine Translation System" (2016)."""
        seen = hypotheses["attended"][:, :, 0]  # [B, K, S]
        logs = tf.math.log(tf.clip_by_value(seen, 1e-6, 1.0))  # finite, even where nothing was seen
        return self.options.coverage_penalty * tf.reduce_sum(logs, axis=-1)

    def _sampled(
        self, source_ids: tf.Tensor, memory: Any, num_results: int | tf.Tensor, given: Given
    ) -> SearchResult:
        rules, max_lengths = self._rules(source_ids, given).within(self._max_lengths(source_ids, given))
        none = tf.zeros_like(max_lengths)
        prefix_lengths = none if rules.prefix_lengths is None else rules.prefix_lengths

        def own(name: str, value: float, dtype: tf.DType) -> tf.Tensor:
            return tf.cast(given[name] if name in given else tf.fill(tf.shape(none), value), dtype)

        request = Request(
            prompts=none[:, None][:, :0] if rules.prefixes is None else rules.prefixes,
            prompt_lengths=prefix_lengths,
            max_lengths=max_lengths - prefix_lengths,
            seeds=own("seeds", self.options.seed, tf.int64),
            temperature=own("temperature", self.options.temperature, tf.float32),
            top_k=own("top_k", self.options.top_k, tf.int32),
            top_p=own("top_p", self.options.top_p, tf.float32),
        )
        return sample(
            self.model.step,
            self.model.start_cache(memory, num_hypotheses=num_results),
            request,
            num_samples=num_results,
            start_id=START_ID,
            end_id=END_ID,
            forbidden_ids=(*self.forbidden_ids, *self.banned),
            repetition_penalty=self.options.repetition_penalty,
            no_repeat=self.options.no_repeat,
            min_lengths=None if rules.min_lengths is None else rules.min_lengths - prefix_lengths,
            whole=True,
        )

    @property
    def forbidden_ids(self) -> tuple[int, ...]:
        """Tokens that are part of no answer."""
        return (PAD_ID, START_ID, *self.preprocessor.unanswerable_ids)

    def _rules(self, source_ids: tf.Tensor, given: Given) -> SearchRules:
        options = self.options
        lengths, prefixes = given.get("prefix_lengths"), given.get("prefixes")
        if lengths is not None and self.model.max_length is not None:
            lengths = tf.minimum(lengths, self.model.max_length - 1)  # the start token takes one
        return SearchRules(
            prefixes=prefixes,
            prefix_lengths=lengths,
            min_lengths=self._min_lengths(source_ids, given),
            banned_ids=self.banned,
            repetition_penalty=given.get("repetition_penalty", options.repetition_penalty),
            no_repeat=options.no_repeat,
            diversity=options.diversity,
        )

    def _min_lengths(self, source_ids: tf.Tensor, given: Given) -> tf.Tensor | None:
        options = self.options
        if not ("min_lengths" in given or options.min_length_factor or options.min_length_margin):
            return None
        least = self._lengths(source_ids, options.min_length_factor, options.min_length_margin)
        return _or_given(given.get("min_lengths"), least)

    def _max_lengths(self, source_ids: tf.Tensor, given: Given) -> tf.Tensor:
        """The most pieces of each answer, int32 ``[B]``: within a learned table of positions, too."""
        options = self.options
        most = self._lengths(source_ids, options.max_length_factor, options.max_length_margin)
        limits = _or_given(given.get("max_lengths"), most)
        table = self.model.max_length
        return limits if table is None else tf.minimum(limits, table - 1)  # the start token takes one

    def _lengths(self, source_ids: tf.Tensor, factor: float, margin: int) -> tf.Tensor:
        lengths = tf.cast(num_pieces(self.preprocessor, source_ids), tf.float32)  # [B]
        allowed = tf.floor(lengths * factor)
        return tf.cast(tf.minimum(allowed + margin, LONGEST_ANSWER), tf.int32)


def _or_given(given: tf.Tensor | None, otherwise: tf.Tensor) -> tf.Tensor:
    return otherwise if given is None else tf.where(given < 0, otherwise, given)


def num_pieces(preprocessor: Preprocessor, source_ids: tf.Tensor) -> tf.Tensor:
    """How many pieces of text each source has, int32 ``[B]``; no special token and no end is one."""
    is_piece = (source_ids != PAD_ID) & (source_ids < preprocessor.source_tokenizer.vocabulary_size)
    if not preprocessor.source_end:
        return tf.math.count_nonzero(is_piece & (source_ids != END_ID), axis=1, dtype=tf.int32)
    return tf.math.count_nonzero(is_piece, axis=1, dtype=tf.int32) - 1


def check_pieces(preprocessor: Preprocessor, options: SearchOptions) -> None:
    """Refuses options that the pieces of a translator cannot follow.

    Raises:
        ValueError: When a banned text is no piece; when unknown pieces, which are to be replaced, leave no
            mark.
    """
    banned_ids(options.banned, preprocessor.encode_target)
    if options.replace_unknown and preprocessor.target_tokenizer.unknown == "drop":
        rule = "must be false where the tokenizer drops unknown pieces"
        raise ValueError(f"`replace_unknown` {rule}. Received: True")
