"""Translation: a Transformer, its text side and its search, joined into text in, text out.

Shapes: B sentences, S source pieces, K hypotheses, T target pieces.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.decoding.beam import beam_search
from tf_transformer.decoding.greedy import greedy_search
from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.models import Transformer
from tf_transformer.presets import END_ID, PAD_ID, START_ID
from tf_transformer.tasks.served import ServedTranslator
from tf_transformer.text import Preprocessor

PIECES_AT_ONCE = 4096
"""Source positions, padding included, that ``translate`` puts into one batch."""


@dataclass(frozen=True)
class SearchOptions:
    """How translations are searched for.

    Args:
        beam_size: Hypotheses kept alive for each sentence; 1 is greedy search.
        length_penalty: The exponent alpha of the length formula; 0 ranks by log-probability.
        length_formula: ``"gnmt"``: log P / ((5 + length) / 6)^alpha, ``"mean"``: log P / length^alpha;
            the length counts the end token.
        max_length_factor: Pieces allowed for each source piece.
        max_length_margin: Pieces allowed beyond that.
    """

    beam_size: int = 4
    length_penalty: float = 1.0
    length_formula: str = "mean"
    max_length_factor: float = 2.0
    max_length_margin: int = 10


@dataclass(frozen=True)
class Hypothesis:
    """One translation of one sentence.

    Args:
        text: The translation.
        score: What hypotheses are ranked by: the log-probability under the length formula.
        log_probability: Natural log of the probability of all pieces and the end token; None where an
            exported model does not say.
        finished: False when the search reached the length limit before an end token; None likewise.
    """

    text: str
    score: float
    log_probability: float | None
    finished: bool | None


class Translator(tf.Module):
    """Translates text with a trained model.

    Args:
        model: A ``Transformer``; search runs in the precision of its own policy.
        preprocessor: The text side that it was trained with.
        options: Search options; the keywords below replace single ones.
        max_source_length: Longer sources are cut to this many pieces, the end token included; never more
            than the model has learned positions for.
        **search: Fields of :class:`SearchOptions`.

    Example:

    >>> translator = Translator(model, preprocessor, beam_size=4)  # doctest: +SKIP
    >>> translator.translate(["I love you."])  # doctest: +SKIP
    ["Je t'aime."]
    """

    def __init__(
        self,
        model: Transformer,
        preprocessor: Preprocessor,
        options: SearchOptions | None = None,
        *,
        max_source_length: int = 256,
        **search: Any,
    ) -> None:
        super().__init__(name="translator")
        self.model = model
        self.preprocessor = preprocessor
        self.options = replace_options(options or SearchOptions(), **search)
        self.max_source_length = min(max_source_length, model.max_length or max_source_length)
        # One traced graph for each way to search; a cached function, because a SavedModel would try to track
        # a dictionary of graphs.
        self._graph = functools.cache(self._traced)

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        """The best translation of each text, in order; an empty text gives an empty translation.

        Args:
            texts: Source sentences.
            **search: Fields of :class:`SearchOptions` that differ from the translator's own.
        """
        return [hypotheses[0].text for hypotheses in self.n_best(texts, 1, **search)]

    def n_best(
        self, texts: Sequence[str], num_results: int | None = None, **search: Any
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each text, best first, in the order of the texts.

        Args:
            texts: Source sentences.
            num_results: How many for each, at most and by default ``beam_size``; fewer are found sooner.
            **search: Fields of :class:`SearchOptions` that differ from the translator's own.

        Raises:
            TypeError: When ``texts`` is one string; its characters are hardly meant.
            ValueError: For a search option that does not exist or is out of its range.
        """
        if isinstance(texts, str | bytes):
            raise TypeError(f"Argument `texts` must be a list of strings. Received: one string, {texts!r}")
        if not texts:
            return []
        options = replace_options(self.options, **search)
        num_results = num_results or options.beam_size
        source_ids = self.encode(texts)
        lengths = source_ids.row_lengths().numpy()
        answers: list[list[Hypothesis]] = [[]] * len(texts)
        for rows in batches_by_length(lengths, PIECES_AT_ONCE):
            batch = tf.gather(source_ids, rows).to_tensor(PAD_ID)
            for row, hypotheses in zip(rows, self._hypotheses(batch, options, num_results), strict=True):
                answers[row] = hypotheses
        return answers

    def export(self, folder: str | Path) -> tuple[str, ...]:
        """Writes a SavedModel that takes strings and returns strings, without this package.

        ``tf-transformer export`` does this too, under a version number and verified in a clean process.

        Args:
            folder: Where to; what is there is replaced.

        Returns:
            The names of its signatures: ``serving_default`` and ``n_best``.
        """
        served = ServedTranslator(self)
        signatures = {"n_best": served.n_best, "serving_default": served.serving_default}
        tf.saved_model.save(served, str(folder), signatures=signatures)
        return tuple(signatures)

    def encode(self, texts: Sequence[str]) -> tf.RaggedTensor:
        """Source ids of ``texts`` as the model gets them, cut to ``max_source_length``."""
        return self._cut(self.preprocessor.encode_source(tf.constant(list(texts), tf.string)))

    def count_cut(self, texts: Sequence[str]) -> int:
        """How many of ``texts`` are longer than ``max_source_length`` and lose their end."""
        lengths = self.preprocessor.encode_source(tf.constant(list(texts), tf.string)).row_lengths()
        return int(tf.math.count_nonzero(lengths > self.max_source_length))

    def search(self, source_ids: tf.Tensor, options: SearchOptions, num_results: int) -> SearchResult:
        """Searches translations of a batch inside any graph.

        Args:
            source_ids: ``[B, S]`` int32, zero-padded, each row with its end token.
            options: How to search.
            num_results: Hypotheses to find for each, at most ``options.beam_size``.
        """
        memory = self.model.encode(source_ids, training=False)
        cache = self.model.start_cache(memory, num_hypotheses=options.beam_size)
        lengths = tf.math.count_nonzero(source_ids, axis=1, dtype=tf.int32) - 1  # [B], without the end token
        allowed = tf.cast(tf.cast(lengths, tf.float32) * options.max_length_factor, tf.int32)
        limits = self._bounded(allowed + options.max_length_margin)
        common = {
            "batch_size": tf.shape(source_ids)[0],
            "max_lengths": limits,
            "start_id": START_ID,
            "end_id": END_ID,
            "forbidden_ids": (PAD_ID, START_ID),
            "length_penalty": options.length_penalty,
            "length_formula": options.length_formula,
        }
        if options.beam_size == 1:
            return greedy_search(self.model.step, cache, **common)
        return beam_search(
            self.model.step, cache, beam_size=options.beam_size, num_results=num_results, **common
        )

    def answer(self, texts: tf.Tensor, options: SearchOptions, num_results: int) -> dict[str, tf.Tensor]:
        """Texts to translations inside one graph: what a SavedModel runs.

        Args:
            texts: ``[B]`` string.
            options: How to search.
            num_results: K, at most ``options.beam_size``.

        Returns:
            ``text`` string, ``score`` and ``log_probability`` float32, ``finished`` bool, each ``[B, K]``,
            best first.
        """
        source_ids = self._cut(self.preprocessor.encode_source(texts)).to_tensor(PAD_ID)
        return self._texts(source_ids, self.search(source_ids, options, num_results))

    def _texts(self, source_ids: tf.Tensor, result: SearchResult) -> dict[str, tf.Tensor]:
        shape = tf.shape(result.scores)  # [B, K]
        flat = tf.reshape(result.ids, [shape[0] * shape[1], tf.shape(result.ids)[2]])
        texts = tf.reshape(self.preprocessor.decode_target(flat), shape)
        # A source without a piece has nothing to translate: its answer is empty, whatever the model says.
        empty = tf.math.count_nonzero(source_ids, axis=1)[:, tf.newaxis] <= 1  # [B, 1]
        zeros = tf.zeros_like(result.scores)
        return {
            "text": tf.where(empty, tf.fill(shape, ""), texts),
            "score": tf.where(empty, zeros, result.scores),
            "log_probability": tf.where(empty, zeros, result.log_probabilities),
            "finished": result.finished | empty,
        }

    def _hypotheses(
        self, source_ids: tf.Tensor, options: SearchOptions, num_results: int
    ) -> list[list[Hypothesis]]:
        result = self._graph(options, num_results)(source_ids)
        answer = self._texts(source_ids, result)
        columns = [answer[name].numpy() for name in ("text", "score", "log_probability", "finished")]
        return [
            [
                Hypothesis(text.decode("utf-8", errors="replace"), float(score), float(logp), bool(finished))
                for text, score, logp, finished in zip(*row, strict=True)
            ]
            for row in zip(*columns, strict=True)
        ]

    def _traced(self, options: SearchOptions, num_results: int) -> Callable[[tf.Tensor], SearchResult]:
        signature = [tf.TensorSpec([None, None], tf.int32, name="source_ids")]
        graph: Callable[[tf.Tensor], SearchResult] = tf.function(
            lambda source_ids: self.search(source_ids, options, num_results),
            input_signature=signature,
            autograph=False,  # loops are written as such; converting all that is called takes seconds
        )
        return graph

    def _cut(self, source_ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Cuts rows that are too long; the last place of a cut row holds the end token."""
        cut = source_ids[:, : self.max_source_length]
        places = tf.ragged.range(cut.row_lengths()).flat_values
        last = tf.equal(places, self.max_source_length - 1)
        return cut.with_flat_values(tf.where(last, END_ID, cut.flat_values))

    def _bounded(self, limits: tf.Tensor) -> tf.Tensor:
        """Keeps lengths within a learned table of positions (the start token takes one)."""
        table = self.model.max_length
        return limits if table is None else tf.minimum(limits, table - 1)


def replace_options(options: SearchOptions, **search: Any) -> SearchOptions:
    """``options`` with some fields replaced.

    Raises:
        ValueError: For a field that does not exist or a value out of its range.
    """
    unknown = sorted(set(search) - set(SearchOptions.__dataclass_fields__))
    if unknown:
        known = ", ".join(SearchOptions.__dataclass_fields__)
        raise ValueError(f"Search options must be among {known}. Received: {', '.join(unknown)}")
    options = SearchOptions(**{**options.__dict__, **search})
    if options.beam_size < 1:
        raise ValueError(f"Argument `beam_size` must be at least 1. Received: {options.beam_size}")
    for name in ("max_length_factor", "max_length_margin"):
        if getattr(options, name) < 0:
            raise ValueError(f"Argument `{name}` must be at least 0. Received: {getattr(options, name)}")
    if options.length_formula not in ("gnmt", "mean"):
        raise ValueError(
            f'Argument `length_formula` must be "gnmt" or "mean". Received: {options.length_formula!r}'
        )
    return options


def batches_by_length(lengths: np.ndarray[Any, Any], positions: int) -> list[np.ndarray[Any, Any]]:
    """Row numbers in batches of similar length, at most ``positions`` padded positions each.

    Args:
        lengths: ``[N]`` integers.
        positions: Upper bound of rows times longest row; a longer single row is a batch by itself.
    """
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, positions // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches
