"""Translation: a Transformer, its text side and its search, joined into text in, text out.

Shapes: B sentences, S source pieces, K hypotheses, T target pieces.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.decoding.arguments import check_sizes
from tf_transformer.decoding.beam import beam_search
from tf_transformer.decoding.greedy import greedy_search
from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.models import Transformer
from tf_transformer.presets import END_ID, LONGEST_ANSWER, PAD_ID, START_ID
from tf_transformer.tasks.batches import batches_by_length
from tf_transformer.tasks.hypothesis import Hypothesis
from tf_transformer.tasks.options import SearchOptions, replace_options
from tf_transformer.tasks.served import ServedTranslator
from tf_transformer.tasks.task import Trial, save_model
from tf_transformer.tasks.translation_trial import translation_trial
from tf_transformer.text import Preprocessor

PIECES_AT_ONCE = 4096
"""Source positions, padding included, that ``translate`` puts into one batch; fewer for a wide beam."""
USUAL_BEAM = 8
"""The widest beam that is not wide."""


class Translator(tf.Module):
    """Translates text with a trained model.

    Args:
        model: A ``Transformer``; search runs in the precision of its own policy.
        preprocessor: The text side that it was trained with.
        options: Search options; the keywords below replace single ones.
        max_source_length: Longer sources are cut to this many pieces, the end token included; never more
            than the model has learned positions for.
        **search: Fields of :class:`SearchOptions`.

    Raises:
        TypeError: For an option of a wrong type.
        ValueError: For an option that does not exist or is out of its range, and when model and
            preprocessor have vocabularies of different sizes.

    Example:

    >>> translator = Translator(model, preprocessor, beam_size=4)  # doctest: +SKIP
    >>> translator.translate(["I love you."])  # doctest: +SKIP
    ["Je t'aime."]
    """

    TASK = "translate"
    SIGNATURES = ("n_best", "serving_default")

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
        _check_vocabularies(model, preprocessor)
        max_source_length = whole_number("max_source_length", max_source_length, 2)  # a piece and the end
        self.model = model
        self.preprocessor = preprocessor
        self.options = replace_options(options or SearchOptions(), **search)
        self.max_source_length = min(max_source_length, model.max_length or max_source_length)
        # One traced graph for each way to search; a cached function, because a SavedModel would try to track
        # a dictionary of graphs.
        self._graph = functools.cache(self._traced)

    def translate(self, texts: Sequence[str], *, tag: str | None = None, **search: Any) -> list[str]:
        """The best translation of each text, in order; an empty text gives an empty translation.

        Args:
            texts: As for `n_best`.
            tag: As for `n_best`.
            **search: Fields of :class:`SearchOptions` that differ from the translator's own.
        """
        return [hypotheses[0].text for hypotheses in self.n_best(texts, 1, tag=tag, **search)]

    def n_best(
        self, texts: Sequence[str], num_results: int | None = None, *, tag: str | None = None, **search: Any
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each text, best first, in the order of the texts.

        Args:
            texts: Source sentences. Where the model reads several columns there is a tab between each two.
            num_results: How many for each, at most and by default ``beam_size``; fewer are found sooner.
            tag: The tag of all of them, where the model has tags; None where each text begins with its own,
                and a tab.
            **search: Fields of :class:`SearchOptions` that differ from the translator's own.

        Raises:
            TypeError: When ``texts`` is no list of strings (one string is none), or for an option of a wrong
                type.
            ValueError: For a search option that does not exist or is out of its range; for a tag that the
                model does not know, a text without one, or with another number of columns.
        """
        texts = self.preprocessor.source_form.lines(texts, tag)
        options = replace_options(self.options, **search)
        _, num_results = check_sizes(options.beam_size, num_results)
        if not texts:
            return []
        source_ids = self.encode(texts)
        lengths = source_ids.row_lengths().numpy()
        answers: list[list[Hypothesis]] = [[]] * len(texts)
        positions = PIECES_AT_ONCE * USUAL_BEAM // max(options.beam_size, USUAL_BEAM)
        for rows in batches_by_length(lengths, positions):
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

        Raises:
            TypeError: When ``folder`` is no path.
            ValueError: When it is a file.
        """
        return save_model(self, folder)

    @property
    def side(self) -> Preprocessor:
        """The preprocessor, under the name that it has in every task."""
        return self.preprocessor

    @property
    def custom_ops(self) -> tuple[str, ...]:
        """See `Task`."""
        return self.preprocessor.custom_ops

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Texts, references say, as the model's own text is normalised."""
        return self.preprocessor.normalizer.normalize_texts(list(texts))

    def served(self) -> ServedTranslator:
        """See `Task`."""
        return ServedTranslator(self)

    def manifest_facts(self) -> dict[str, Any]:
        """See `Task`."""
        return {
            "source_vocabulary_size": self.preprocessor.source_vocabulary_size,
            "target_vocabulary_size": self.preprocessor.target_vocabulary_size,
            **self.preprocessor.normalizer.options,
            "source_columns": self.preprocessor.source_form.columns,
            "tags": self.preprocessor.source_form.tags,
        }

    def trial(self, samples: Sequence[str]) -> Trial:
        """See `Task`."""
        return translation_trial(self, samples, self.preprocessor.source_form)

    def encode(self, texts: Sequence[str]) -> tf.RaggedTensor:
        """Source ids of ``texts``, with their tags, as the model gets them: cut to ``max_source_length``."""
        return self._cut(self._source_ids(texts))

    def count_cut(self, texts: Sequence[str]) -> int:
        """How many of ``texts``, with their tags, are over ``max_source_length`` and lose their end."""
        lengths = self._source_ids(texts).row_lengths()
        return int(tf.math.count_nonzero(lengths > self.max_source_length))

    def search(self, source_ids: tf.Tensor, options: SearchOptions, num_results: int) -> SearchResult:
        """Searches translations of a batch inside any graph.

        A source without a piece has nothing to translate: it is not searched for, and all its hypotheses are
        empty and finished, whatever the model would say.

        Args:
            source_ids: ``[B, S]`` int32, zero-padded, each row with its end token.
            options: How to search.
            num_results: Hypotheses to find for each, at most ``options.beam_size``.
        """
        has_pieces = self._num_pieces(source_ids) > 0  # [B]
        result = self._search(tf.boolean_mask(source_ids, has_pieces), options, num_results)
        # Row 0 is the empty answer; those that were searched for follow in their order.
        places = tf.where(has_pieces, tf.cumsum(tf.cast(has_pieces, tf.int32)), 0)
        with_empty = [
            tf.pad(part, [[1, 0]] + [[0, 0]] * (part.shape.rank - 1), constant_values=part.dtype == tf.bool)
            for part in result
        ]
        return SearchResult(*(tf.gather(part, places) for part in with_empty))

    def _search(self, source_ids: tf.Tensor, options: SearchOptions, num_results: int) -> SearchResult:
        memory = self.model.encode(source_ids, training=False)
        cache = self.model.start_cache(memory, num_hypotheses=options.beam_size)
        common = {
            "batch_size": tf.shape(source_ids)[0],
            "max_lengths": self._limits(source_ids, options),
            "start_id": START_ID,
            "end_id": END_ID,
            "forbidden_ids": (PAD_ID, START_ID, *self.preprocessor.unanswerable_ids),
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
            texts: ``[B]`` string, with their tags where the model has tags.
            options: How to search.
            num_results: K, at most ``options.beam_size``.

        Returns:
            ``text`` string, ``score`` and ``log_probability`` float32, ``finished`` bool, each ``[B, K]``,
            best first.
        """
        source_ids = self._cut(self.preprocessor.encode_source(texts)).to_tensor(PAD_ID)
        return self._texts(self.search(source_ids, options, num_results))

    def _texts(self, result: SearchResult) -> dict[str, tf.Tensor]:
        shape = tf.shape(result.scores)  # [B, K]
        flat = tf.reshape(result.ids, [shape[0] * shape[1], tf.shape(result.ids)[2]])
        return {
            "text": tf.reshape(self.preprocessor.decode_target(flat), shape),
            "score": result.scores,
            "log_probability": result.log_probabilities,
            "finished": result.finished,
        }

    def _hypotheses(
        self, source_ids: tf.Tensor, options: SearchOptions, num_results: int
    ) -> list[list[Hypothesis]]:
        answer = self._texts(self._graph(options, num_results)(source_ids))
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

    def _source_ids(self, texts: Sequence[str]) -> tf.RaggedTensor:
        # A lone surrogate is not UTF-8; as bytes the normaliser takes it for what it is.
        lines = self.preprocessor.source_form.lines(texts)
        content = [line.encode("utf-8", "surrogatepass") for line in lines]
        return self.preprocessor.encode_source(tf.constant(content, tf.string))

    def _num_pieces(self, source_ids: tf.Tensor) -> tf.Tensor:
        """How many pieces of text each source has, int32 ``[B]``; no special token and no end is one."""
        is_piece = (source_ids != PAD_ID) & (source_ids < self.preprocessor.source_tokenizer.vocabulary_size)
        return tf.math.count_nonzero(is_piece, axis=1, dtype=tf.int32) - 1

    def _limits(self, source_ids: tf.Tensor, options: SearchOptions) -> tf.Tensor:
        """The most pieces of each answer, int32 ``[B]``: within a learned table of positions, too."""
        lengths = tf.cast(self._num_pieces(source_ids), tf.float32)  # [B]
        allowed = tf.floor(lengths * options.max_length_factor)
        limits = tf.cast(tf.minimum(allowed + options.max_length_margin, LONGEST_ANSWER), tf.int32)
        table = self.model.max_length
        return limits if table is None else tf.minimum(limits, table - 1)  # the start token takes one


def _check_vocabularies(model: Transformer, preprocessor: Preprocessor) -> None:
    for side in ("source", "target"):
        name = f"{side}_vocabulary_size"
        mine, other = getattr(model, name), getattr(preprocessor, name)
        if mine != other:
            raise ValueError(
                f"`model` and `preprocessor` must have the same `{name}`: they do not belong together. "
                f"Received: {mine} and {other}"
            )
