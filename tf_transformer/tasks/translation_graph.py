"""The part of a translator that is written into graphs: texts in, translations out.

Shapes: B sentences, S source pieces, K hypotheses, P pieces of the longest prefix.
"""

from typing import Any

import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.presets import END_ID, LONGEST_ANSWER, PAD_ID
from tf_transformer.tasks.options import SearchOptions
from tf_transformer.tasks.piece_rules import seeds_of
from tf_transformer.tasks.search_graphs import SearchGraphs
from tf_transformer.tasks.task import TaskModule
from tf_transformer.tasks.translation_search import Given, check_pieces
from tf_transformer.text import Preprocessor

GIVEN_FACTOR = 4
"""How many times the pieces of the longest source an answer that a request gives may have at least."""


class TranslationGraph(TaskModule):
    """A model with its text side and its search.

    Args:
        model: See `Translator`.
        preprocessor: See `Translator`.
        options: How to search.
        max_source_length: See `Translator`.
    """

    preprocessor: Preprocessor

    def __init__(
        self, model: Any, preprocessor: Preprocessor, options: SearchOptions, max_source_length: int
    ) -> None:
        super().__init__("translator", model, preprocessor)
        _check_vocabularies(model, preprocessor)
        check_pieces(preprocessor, options)
        max_source_length = whole_number("max_source_length", max_source_length, 2)  # a piece and the end
        self.options = options
        self.graphs = SearchGraphs(self)
        self.max_source_length = min(max_source_length, model.max_length or max_source_length)

    @property
    def longest_answer(self) -> int:
        """The most pieces that the options allow for any source, and so for whatever a request asks."""
        options = self.options
        most = int(self.max_source_length * options.max_length_factor) + options.max_length_margin
        return self._within_table(min(most, LONGEST_ANSWER))

    @property
    def longest_given(self) -> int:
        """The most pieces of an answer that a request may give: more than any translation of a source has."""
        return self._within_table(max(self.longest_answer, GIVEN_FACTOR * self.max_source_length))

    def _within_table(self, pieces: int) -> int:
        table = self.model.max_length  # the start token takes one of its places
        return pieces if table is None else min(pieces, table - 1)

    def checked(self, name: str, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Pieces of answers that a request gives, inside any graph.

        Args:
            name: What the request calls them.
            ids: int32 ``[B, None]``.

        Raises:
            tf.errors.InvalidArgumentError: When there are more than ``longest_given``.
        """
        longest = tf.reduce_max(tf.concat([ids.row_lengths(), [0]], axis=0))
        rule = f"`{name}` must have at most {self.longest_given} pieces. Received:"
        with tf.control_dependencies([tf.debugging.Assert(longest <= self.longest_given, [rule, longest])]):
            return ids.with_flat_values(tf.identity(ids.flat_values))

    def search(
        self, source_ids: tf.Tensor, options: SearchOptions, num_results: int, given: Given | None = None
    ) -> SearchResult:
        """Searches translations of a batch, in any graph or outside of one: see `SearchGraphs.search`."""
        return self.graphs.search(source_ids, options, num_results, given or {})

    def answer(
        self,
        texts: tf.Tensor,
        options: SearchOptions,
        num_results: int,
        prefix: tf.Tensor | None = None,
        **given: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        """Texts to translations inside one graph: what a SavedModel runs.

        Args:
            texts: ``[B]`` string, with their tags where the model has tags.
            options: How to search.
            num_results: K, at most ``options.beam_size``.
            prefix: ``[B]`` string, what answers begin with; None for nothing.
            **given: What each text has of its own: see `translation_search.GIVEN`.

        Raises:
            tf.errors.InvalidArgumentError: For a prefix that is too long, see ``checked``.

        Returns:
            ``text`` string, ``score`` and ``log_probability`` float32, ``finished`` bool, each ``[B, K]``,
            best first.
        """
        source_ids = self.source_ids(texts).to_tensor(PAD_ID)
        if prefix is not None:
            given |= given_prefixes(self.checked("prefix", self.preprocessor.encode_target(prefix)))
        if options.sample and "seeds" not in given:
            given["seeds"] = seeds_of(texts, options.seed)
        return self.texts_of(self.search(source_ids, options, num_results, given))

    def source_ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Source ids of texts ``[B]``, with their tags, inside any graph: cut to ``max_source_length``.

        The last place of a row that was cut holds the end token, if sources have one.
        """
        cut = self.preprocessor.encode_source(texts)[:, : self.max_source_length]
        if not self.preprocessor.source_end:
            return cut
        places = tf.ragged.range(cut.row_lengths()).flat_values
        last = tf.equal(places, self.max_source_length - 1)
        return cut.with_flat_values(tf.where(last, END_ID, cut.flat_values))

    def cut_ids(self, source_ids: tf.Tensor) -> tf.Tensor:
        """Ids ``[B, S]`` of sources, zero-padded, each with its end if it has one: cut as texts are."""
        cut = source_ids[:, : self.max_source_length]
        if not self.preprocessor.source_end:
            return cut
        is_last = tf.range(tf.shape(cut)[1]) == self.max_source_length - 1
        return tf.where(is_last & (cut != PAD_ID), END_ID, cut)

    def texts_of(self, result: SearchResult) -> dict[str, tf.Tensor]:
        """What `answer` returns of a result."""
        shape = tf.shape(result.scores)  # [B, K]
        flat = tf.reshape(result.ids, [shape[0] * shape[1], tf.shape(result.ids)[2]])
        return {
            "text": tf.reshape(self.preprocessor.decode_target(flat), shape),
            "score": result.scores,
            "log_probability": result.log_probabilities,
            "finished": result.finished,
        }


def given_prefixes(ids: tf.RaggedTensor) -> dict[str, tf.Tensor]:
    """Prefixes as `TranslationSearch` takes them."""
    lengths = tf.cast(ids.row_lengths(), tf.int32)
    return {"prefixes": ids.to_tensor(PAD_ID), "prefix_lengths": lengths}


def _check_vocabularies(model: Any, preprocessor: Preprocessor) -> None:
    for side in ("source", "target"):
        name = f"{side}_vocabulary_size"
        mine, other = getattr(model, name), getattr(preprocessor, name)
        if mine != other:
            raise ValueError(
                f"`model` and `preprocessor` must have the same `{name}`: they do not belong together. "
                f"Received: {mine} and {other}"
            )
