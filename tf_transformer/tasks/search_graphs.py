"""The graphs of a translator, each made once for all who run it: its own verbs and its signatures.

Shapes: B sentences, S source pieces, K hypotheses, T target pieces, P pieces of the longest prefix.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.replicas import OnDevices
from tf_transformer.tasks.options import SearchOptions
from tf_transformer.tasks.translation_details import Reread, reread
from tf_transformer.tasks.translation_search import GIVEN, Given, TranslationSearch

_IDS = tf.TensorSpec([None, None], tf.int32, name="source_ids")
_TARGETS = tf.TensorSpec([None, None, None], tf.int32, name="ids")
_PIECES = tf.TensorSpec([None, None], tf.int32, name="pieces")
_FINISHED = tf.TensorSpec([None, None], tf.bool, name="finished")
_NUMBER = tf.TensorSpec([], tf.int32, name="num_results")
_DRAWING = ("temperature", "top_k", "top_p")


class SearchGraphs:
    """Runs searches and rereads of one translator, in a graph or outside of any.

    Args:
        task: The translator.
    """

    def __init__(self, task: Any) -> None:
        self.task = task
        self._searches = functools.cache(self._traced)
        self._reread = tf.function(
            self._read_again,
            input_signature=[_IDS, _TARGETS, _PIECES, _FINISHED],
            autograph=False,
        )

    def search(
        self, source_ids: tf.Tensor, options: SearchOptions, num_results: int, given: Given
    ) -> SearchResult:
        """Searches translations: see `TranslationSearch`.

        Args:
            source_ids: int32 ``[B, S]``, zero-padded, each row with its end token.
            options: How to search; what is in ``given`` counts there alone.
            num_results: Hypotheses to find for each, at most the beam; with ``options.sample`` any number.
            given: What the sentences have of their own; seeds, where answers are drawn.
        """
        graph, request = self._request(source_ids, options, num_results, given)
        found: SearchResult = graph(*request)
        return found

    def search_all(
        self, batches: Sequence[tuple[tf.Tensor, Given]], options: SearchOptions, num_results: int
    ) -> Iterator[SearchResult]:
        """Searches translations of several batches, on all devices of the model at once.

        Args:
            batches: The ids of each and what its sentences have of their own, the same things in all: see
                `search`.
            options: See `search`.
            num_results: See `search`.

        Yields:
            What `search` returns of each, in their order.
        """
        made = [self._request(ids, options, num_results, given) for ids, given in batches]
        yield from made[0][0].map(request for _, request in made)

    def _request(
        self, source_ids: tf.Tensor, options: SearchOptions, num_results: int, given: Given
    ) -> tuple[OnDevices, tuple[Any, ...]]:
        """A graph, and what it is called with."""
        if options.sample:
            # Tensors, so that one graph serves all values.
            rows = tf.shape(source_ids)[:1]
            values = {name: tf.cast(getattr(options, name), GIVEN[name].dtype) for name in _DRAWING}
            given = {**{name: tf.fill(rows, value) for name, value in values.items()}, **given}
        graph = self._searches(options.of_graph, tuple(sorted(given)))
        return graph, (source_ids, tf.constant(num_results), dict(given))

    def reread(self, source_ids: tf.Tensor, ids: tf.Tensor, pieces: tf.Tensor, finished: tf.Tensor) -> Reread:
        """Reads targets once more: see `translation_details.reread`."""
        found: Reread = self._reread(source_ids, ids, pieces, finished)
        return found

    def _read_again(self, *given: tf.Tensor) -> Reread:
        with self.task.weights.reading():
            return reread(self.task.model, *given)

    def _traced(self, options: SearchOptions, names: tuple[str, ...]) -> OnDevices:
        task = self.task
        search = TranslationSearch(task.model, task.preprocessor, options)

        def found(source_ids: tf.Tensor, num_results: tf.Tensor, given: Given) -> SearchResult:
            with task.weights.reading():
                return search.search(source_ids, num_results, given)

        return OnDevices(found, task.model, [_IDS, _NUMBER, {name: GIVEN[name] for name in names}])
