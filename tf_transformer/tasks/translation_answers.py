"""Batches of source texts to their hypotheses: what a translator runs in this process.

Shapes: B sentences, S source pieces, K hypotheses, T target pieces.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.presets import PAD_ID
from tf_transformer.replicas import num_devices
from tf_transformer.tasks.batches import at_once, batches_by_length
from tf_transformer.tasks.hypothesis import Hypothesis
from tf_transformer.tasks.options import SearchOptions
from tf_transformer.tasks.piece_rules import seeds_of
from tf_transformer.tasks.translation_details import details_of
from tf_transformer.tasks.translation_graph import given_prefixes
from tf_transformer.tasks.unknown_words import named_unknowns

PIECES_AT_ONCE = 4096
"""Source positions, padding included, that ``translate`` puts into one batch; fewer for a wide beam."""
USUAL_BEAM = 8
"""The widest beam that is not wide."""


class _Request(NamedTuple):
    """A batch to be searched."""

    texts: Sequence[str]
    ids: tf.Tensor  # [B, S]
    given: dict[str, tf.Tensor]


class TranslationAnswers:
    """Runs the graphs of a translator on batches.

    Args:
        task: The translator.
    """

    def __init__(self, task: Any) -> None:
        self.task = task

    def hypotheses(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        num_results: int,
        prefixes: tf.RaggedTensor | None,
        details: bool,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each text, in order; arguments as of `Translator.n_best`, checked."""
        answers: list[list[Hypothesis]] = [[]] * len(texts)
        if not texts:
            return answers
        source_ids = self.task.encode(texts)
        width = max(num_results if options.sample else options.beam_size, USUAL_BEAM)
        batches = batches_by_length(source_ids.row_lengths().numpy(), PIECES_AT_ONCE * USUAL_BEAM // width)
        own = (None if prefixes is None else tf.gather(prefixes, rows) for rows in batches)
        requests = [
            self._request(tf.gather(source_ids, rows), [texts[row] for row in rows], options, each)
            for rows, each in zip(batches, own, strict=True)
        ]
        found = self._answered(requests, options, num_results, details)
        for rows, hypotheses in zip(batches, found, strict=True):
            for row, one in zip(rows, hypotheses, strict=True):
                answers[row] = one
        return answers

    def _request(
        self,
        source_ids: tf.RaggedTensor,
        texts: Sequence[str],
        options: SearchOptions,
        prefixes: tf.RaggedTensor | None,
    ) -> _Request:
        given = {} if prefixes is None else given_prefixes(prefixes)
        if options.sample:
            given["seeds"] = seeds_of(strings(texts), options.seed)
        return _Request(texts, source_ids.to_tensor(PAD_ID), given)

    def _answered(
        self, requests: Sequence[_Request], options: SearchOptions, num_results: int, details: bool
    ) -> list[list[list[Hypothesis]]]:
        """The hypotheses of each batch: by all devices that hold the model, or by the cores of one."""
        graphs = self.task.graphs
        if num_devices(self.task.model) > 1 and len(requests) > 1:
            results = graphs.search_all([(one.ids, one.given) for one in requests], options, num_results)
            pairs = zip(requests, results, strict=True)
            return [self._told(one, result, options, details) for one, result in pairs]

        def answered(one: _Request) -> list[list[Hypothesis]]:
            return self._told(one, graphs.search(one.ids, options, num_results, one.given), options, details)

        return at_once(answered, requests)

    def _told(
        self, request: _Request, result: SearchResult, options: SearchOptions, details: bool
    ) -> list[list[Hypothesis]]:
        """What a search has found, for whoever asked."""
        found = self._read(result)
        if details or options.replace_unknown:
            found = self._detailed(request.ids, result, found)
        if options.replace_unknown:
            pairs = zip(request.texts, found, strict=True)
            return [[self._named(text, one, details) for one in hypotheses] for text, hypotheses in pairs]
        return found

    def _read(self, result: SearchResult) -> list[list[Hypothesis]]:
        answer = self.task.texts_of(result)
        columns = [answer[name].numpy() for name in ("text", "score", "log_probability", "finished")]
        return [
            [
                Hypothesis(text.decode("utf-8", errors="replace"), float(score), float(logp), bool(finished))
                for text, score, logp, finished in zip(*row, strict=True)
            ]
            for row in zip(*columns, strict=True)
        ]

    def _detailed(
        self, source_ids: tf.Tensor, result: SearchResult, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        pieces = tf.maximum(result.lengths - tf.cast(result.finished, tf.int32), 0)
        read = self.task.graphs.reread(source_ids, result.ids, pieces, result.finished)
        arrays = [part.numpy() for part in (source_ids, result.ids, pieces, result.finished, *read)]
        return [
            [
                one.saying(one.text, details_of(self.task.preprocessor, source, *hypothesis))
                for one, *hypothesis in zip(hypotheses, *parts, strict=True)
            ]
            for hypotheses, source, *parts in zip(found, *arrays, strict=True)
        ]

    def _named(self, line: str, one: Hypothesis, details: bool) -> Hypothesis:
        assert one.details is not None
        text = named_unknowns(self.task.preprocessor, line, one.text, one.details)
        return one.saying(text, one.details if details else None)


def strings(texts: Sequence[str]) -> tf.Tensor:
    """Texts as a tensor; a lone surrogate, which is no UTF-8, the normaliser takes for what it is."""
    content = [text.encode("utf-8", "surrogatepass") for text in texts]
    return tf.constant(content, tf.string, shape=[len(content)])
