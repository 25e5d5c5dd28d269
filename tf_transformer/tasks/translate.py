"""Translation: a Transformer, its text side and its search, joined into text in, text out.

Shapes: B sentences, S source pieces, K hypotheses, T target pieces.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.arguments import list_of_strings, whole_number
from tf_transformer.decoding.arguments import check_sizes
from tf_transformer.models import Transformer
from tf_transformer.presets import LONGEST_ANSWER, MOST_HYPOTHESES
from tf_transformer.tasks.hypothesis import Hypothesis
from tf_transformer.tasks.long_inputs import in_parts
from tf_transformer.tasks.options import SearchOptions, replace_options
from tf_transformer.tasks.served import ServedTranslator
from tf_transformer.tasks.task import Trial
from tf_transformer.tasks.translation_answers import TranslationAnswers, strings
from tf_transformer.tasks.translation_graph import TranslationGraph
from tf_transformer.tasks.translation_scoring import alternatives, scored
from tf_transformer.tasks.translation_search import check_pieces, num_pieces
from tf_transformer.tasks.translation_trial import further_calls, translation_trial
from tf_transformer.text import Preprocessor


class Translator(TranslationGraph):
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
    SIGNATURES = (
        "attention",
        "explore",
        "ids",
        "inspect",
        "n_best",
        "prefix",
        "sample",
        "score",
        "search",
        "serving_default",
    )

    def __init__(
        self,
        model: Transformer,
        preprocessor: Preprocessor,
        options: SearchOptions | None = None,
        *,
        max_source_length: int = 256,
        **search: Any,
    ) -> None:
        search_options = replace_options(options or SearchOptions(), **search)
        super().__init__(model, preprocessor, search_options, max_source_length)
        self._run = TranslationAnswers(self)
        # Made once, so that its graphs are; a cached function, which a SavedModel does not track.
        self._served = functools.cache(lambda: ServedTranslator(self))

    def translate(
        self,
        texts: Sequence[str],
        *,
        tag: str | None = None,
        prefix: str | Sequence[str] | None = None,
        **search: Any,
    ) -> list[str]:
        """The best translation of each text, in order; an empty text gives an empty translation.

        Args:
            texts: As for `n_best`.
            tag: As for `n_best`.
            prefix: As for `n_best`.
            **search: Fields of :class:`SearchOptions` that differ from the translator's own.
        """
        return [hypotheses[0].text for hypotheses in self.n_best(texts, 1, tag=tag, prefix=prefix, **search)]

    def n_best(
        self,
        texts: Sequence[str],
        num_results: int | None = None,
        *,
        tag: str | None = None,
        prefix: str | Sequence[str] | None = None,
        details: bool = False,
        **search: Any,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each text, best first, in the order of the texts.

        Args:
            texts: Source sentences. Where the model reads several columns there is a tab between each two.
            num_results: How many for each, at most and by default ``beam_size``; fewer are found sooner. With
                ``sample`` any number, in the order of drawing.
            tag: The tag of all of them, where the model has tags; None where each text begins with its own,
                and a tab.
            prefix: What every answer begins with, whole words, which is part of it; or one for each text. A
                minimum, a ban and the like begin to count where it ends; the most pieces have room for it.
            details: Whether hypotheses say piece by piece how likely they are and what they come from.
            **search: Fields of :class:`SearchOptions` that differ from the translator's own.

        Raises:
            TypeError: When ``texts`` is no list of strings (one string is none), or for an option of a wrong
                type.
            ValueError: For a search option that does not exist or is out of its range; for a tag that the
                model does not know, a text without one, or with another number of columns; for another number
                of prefixes than of texts; for a text that is too long where ``on_long`` refuses it.
        """
        texts = self.preprocessor.source_form.lines(texts, tag)
        options = replace_options(self.options, **search)
        check_pieces(self.preprocessor, options)
        if options.sample and num_results is not None:
            num_results = whole_number("num_results", num_results, 1, MOST_HYPOTHESES)
        else:
            _, num_results = check_sizes(options.beam_size, num_results)
        prefixes = None if prefix is None else self._prefixes(prefix, len(texts))
        if options.on_long == "cut" or not texts:
            return self._run.hypotheses(texts, options, num_results, prefixes, details)

        def answers(parts: list[str], own: tf.RaggedTensor | None) -> list[list[Hypothesis]]:
            return self._run.hypotheses(parts, options, num_results, own, details)

        return in_parts(self, texts, options.on_long, prefixes, answers)

    def alternatives(
        self,
        texts: Sequence[str],
        num_results: int = 5,
        *,
        tag: str | None = None,
        prefix: str | Sequence[str] = "",
        details: bool = False,
        **search: Any,
    ) -> list[list[Hypothesis]]:
        """Translations of each text that begin with the prefix and go on with different pieces.

        Args:
            texts: As for `n_best`.
            num_results: How many for each: the likeliest pieces behind the prefix, likeliest first.
            tag: As for `n_best`.
            prefix: As for `n_best`; the alternatives are at the place where it ends.
            details: As for `n_best`.
            **search: Fields of :class:`SearchOptions` that differ from the translator's own.

        Raises:
            TypeError: As `n_best`.
            ValueError: As `n_best`.
        """
        texts = self.preprocessor.source_form.lines(texts, tag)
        options = replace_options(self.options, **search)
        num_results = whole_number("num_results", num_results, 1, MOST_HYPOTHESES)
        prefixes = self._prefixes(prefix, len(texts))
        return alternatives(self._run, texts, num_results, prefixes, options, details)

    def score(
        self, texts: Sequence[str], targets: Sequence[str], *, tag: str | None = None
    ) -> list[Hypothesis]:
        """How likely given translations are, with details: natural logarithms of the model's own.

        Args:
            texts: As for `n_best`.
            targets: A translation of each.
            tag: As for `n_best`.

        Raises:
            TypeError: When one of both is no list of strings.
            ValueError: When they are not equally many, as `n_best` for texts, and for a target that has more
                pieces than the model has positions.
        """
        texts = self.preprocessor.source_form.lines(texts, tag)
        return scored(self._run, texts, list_of_strings("targets", targets))

    def length_limits(self, texts: Sequence[str]) -> list[int]:
        """The most pieces that the options allow for each answer.

        Args:
            texts: Lines as `n_best` takes them without a tag of its own.
        """
        options = self.options
        sizes = num_pieces(self.preprocessor, self.encode(list(texts)).to_tensor()).numpy()
        most = sizes * options.max_length_factor + options.max_length_margin
        return [self._within_table(min(int(one), LONGEST_ANSWER)) for one in most]

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Texts, references say, as the model's own text is normalised."""
        return self.preprocessor.normalizer.normalize_texts(list(texts))

    def served(self) -> ServedTranslator:
        """See `Task`."""
        return self._served()

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
        trial = translation_trial(self, samples, self.preprocessor.source_form)
        return Trial([*trial.calls, *further_calls(self, samples)], trial.summary)

    def probe(self, samples: Sequence[str]) -> Callable[[], np.ndarray[Any, Any]]:
        """See `Task`: the log-probability a piece of the answers that samples have now."""
        texts, answers = list(samples), self.translate(list(samples))

        def look() -> np.ndarray[Any, Any]:
            details = [one.details for one in self.score(texts, answers)]
            return np.array([np.mean(one.log_probabilities) for one in details if one is not None])

        return look

    def encode(self, texts: Sequence[str]) -> tf.RaggedTensor:
        """Source ids of ``texts``, with their tags, as the model gets them: cut to ``max_source_length``."""
        return self.source_ids(strings(self.preprocessor.source_form.lines(texts)))

    def count_cut(self, texts: Sequence[str]) -> int:
        """How many of ``texts``, with their tags, are over ``max_source_length`` and lose their end."""
        return sum(length > self.max_source_length for length in self.count_pieces(texts))

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        """How many pieces each source has, with its tag and its end, whether the model reads them or not."""
        lines = strings(self.preprocessor.source_form.lines(texts))
        lengths: list[int] = self.preprocessor.encode_source(lines).row_lengths().numpy().tolist()
        return lengths

    def _prefixes(self, prefix: str | Sequence[str], number: int) -> tf.RaggedTensor:
        """The pieces of each text's prefix."""
        prefixes = [prefix] * number if isinstance(prefix, str) else list_of_strings("prefix", prefix)
        if len(prefixes) != number:
            raise ValueError(f"`prefix` must be one, or one for each text. Received: {len(prefixes)}")
        return self.preprocessor.encode_target(strings(prefixes))
