"""Batches of source texts to their hypotheses: what a translator runs in this process.

Shapes: B sentences, S source pieces, K hypotheses, T target pieces.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.presets import PAD_ID
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

        def answered(rows: Any) -> list[list[Hypothesis]]:
            own = None if prefixes is None else tf.gather(prefixes, rows)
            batch = tf.gather(source_ids, rows).to_tensor(PAD_ID)
            return self._answered(batch, [texts[row] for row in rows], options, num_results, own, details)

        for rows, found in zip(batches, at_once(answered, batches), strict=True):
            for row, hypotheses in zip(rows, found, strict=True):
                answers[row] = hypotheses
        return answers

    def _answered(
        self,
        batch: tf.Tensor,
        texts: Sequence[str],
        options: SearchOptions,
        num_results: int,
        prefixes: tf.RaggedTensor | None,
        details: bool,
    ) -> list[list[Hypothesis]]:
        given = {} if prefixes is None else given_prefixes(prefixes)
        if options.sample:
            given["seeds"] = seeds_of(strings(texts), options.seed)
        result = self.task.graphs.search(batch, options, num_results, given)
        found = self._read(result)
        if details or options.replace_unknown:
            found = self._detailed(batch, result, found)
        if options.replace_unknown:
            pairs = zip(texts, found, strict=True)
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
