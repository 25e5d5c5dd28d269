"""Translation by a CTranslate2 model, with the text side of the translator that it was made of."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.presets import PAD_ID, START_ID
from tf_transformer.tasks.ctranslate2_search import CTranslate2Search, Found, spellings
from tf_transformer.tasks.hypothesis import Details, Hypothesis
from tf_transformer.tasks.options import SearchOptions, replace_options
from tf_transformer.tasks.piece_rules import banned_ids
from tf_transformer.tasks.translation_answers import strings
from tf_transformer.text import Preprocessor

SEARCHES = frozenset(
    {
        *("beam_size", "length_penalty", "length_formula", "max_length_factor", "max_length_margin"),
        *("min_length_factor", "min_length_margin", "coverage_penalty", "repetition_penalty", "no_repeat"),
        "banned",
    }
)
"""The search options that it follows."""
_SCORED_AT_ONCE = 64


class CTranslate2Translator:
    """Translates by a CTranslate2 model.

    Args:
        engine: A ``ctranslate2.Translator``.
        preprocessor: The text side.
        options: How to search.
        max_source_length: Longer sources are cut to this many pieces, the end token included.
        longest_answer: The most pieces that its positions are enough for.
    """

    def __init__(
        self,
        engine: Any,
        preprocessor: Preprocessor,
        options: SearchOptions,
        *,
        max_source_length: int,
        longest_answer: int,
    ) -> None:
        self.engine = engine
        self.preprocessor = preprocessor
        self.options = options
        self.max_source_length = max_source_length
        self.longest_answer = longest_answer
        self.source_form = preprocessor.source_form
        self._source, self._target = vocabularies(preprocessor)
        self._ids = {piece: number for number, piece in enumerate(self._target)}

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        """The best translation of each text, in order.

        Raises:
            ValueError: For a search option that it does not follow, and for a text that is not as
                `source_form` asks.
        """
        return [hypotheses[0].text for hypotheses in self.n_best(texts, 1, **search)]

    def n_best(
        self, texts: Sequence[str], num_results: int | None = None, **search: Any
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each text, best first.

        Args:
            texts: See `Translator.n_best`.
            num_results: How many for each, at most and by default the beam.
            **search: Fields of `SearchOptions` that are among `SEARCHES`.

        Raises:
            ValueError: See `translate`.
        """
        if strange := sorted(set(search) - SEARCHES):
            raise ValueError(f"CTranslate2 has no such search. Received: {', '.join(strange)}")
        options = replace_options(self.options, **search)
        sources = self._sources(texts)
        specials = set(self.source_form.special_tokens)
        sizes = [sum(piece not in specials for piece in source) for source in sources]
        number = min(num_results or options.beam_size, options.beam_size)
        found = self._search(options, number).answers(sources, sizes)
        words = iter(self._texts([one.pieces for several in found for one in several]))

        def hypothesis(one: Found) -> Hypothesis:
            return Hypothesis(next(words), one.score(options), one.log_probability, one.finished)

        return [[hypothesis(one) for one in several] for several in found]

    def _search(self, options: SearchOptions, number: int) -> CTranslate2Search:
        banned = {PAD_ID, START_ID, *self.preprocessor.unanswerable_ids}
        banned |= set(banned_ids(options.banned, self.preprocessor.encode_target))
        pieces = [self._target[one] for one in sorted(banned)]
        return CTranslate2Search(self.engine, options, number, pieces, self.longest_answer)

    def score(self, texts: Sequence[str], targets: Sequence[str]) -> list[Hypothesis]:
        """How likely given translations are: see `Translator.score`; of details there are those of pieces."""
        wanted = self._pieces(targets)
        scored = self.engine.score_batch(
            self._sources(texts), wanted, max_batch_size=_SCORED_AT_ONCE, max_input_length=0
        )
        answers = []
        for target, pieces, one in zip(targets, wanted, scored, strict=True):
            logs = tuple(one.log_probs)
            found = Found(tuple(pieces), float(sum(logs)), True)
            details = Details(found.pieces, logs, (), (), ())
            score, total = found.score(self.options), found.log_probability
            answers.append(Hypothesis(target, score, total, True, details))
        return answers

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Texts, references say, as the model's own text is normalised."""
        return self.preprocessor.normalizer.normalize_texts(list(texts))

    def count_cut(self, texts: Sequence[str]) -> int:
        """How many of ``texts``, with their tags, lose their end."""
        lengths = self.preprocessor.encode_source(strings(self.source_form.lines(texts))).row_lengths()
        return int(np.sum(lengths.numpy() > self.max_source_length))

    def _sources(self, texts: Sequence[str]) -> list[list[str]]:
        """The pieces of each source but the end token, which the model adds."""
        ids = self.preprocessor.encode_source(strings(self.source_form.lines(texts))).to_list()
        if self.preprocessor.source_end:
            ids = [row[:-1][: self.max_source_length - 1] for row in ids]
        return [[self._source[one] for one in row[: self.max_source_length]] for row in ids]

    def _pieces(self, targets: Sequence[str]) -> list[list[str]]:
        ids = self.preprocessor.encode_target(strings(targets)).to_list()
        return [[self._target[one] for one in row] for row in ids]

    def _texts(self, pieces: Sequence[Sequence[str]]) -> list[str]:
        ids = [[self._ids[one] for one in row] for row in pieces]
        rows = tf.ragged.constant(ids, tf.int32, ragged_rank=1).to_tensor(PAD_ID)
        found = self.preprocessor.decode_target(rows).numpy().tolist()
        return [text.decode("utf-8", errors="replace") for text in found]


def vocabularies(preprocessor: Preprocessor) -> tuple[list[str], list[str]]:
    """The spelling of each source id and of each target id, as CTranslate2 knows them."""
    source = spellings(preprocessor.source_tokens)
    return source, source if preprocessor.shared else spellings(preprocessor.target_tokenizer.tokens)


def decoding_facts(options: SearchOptions) -> dict[str, Any]:
    """What a manifest says of a search; `decoding_options` reads it."""
    return {name: getattr(options, name) for name in sorted(SEARCHES)}


def decoding_options(facts: Mapping[str, Any]) -> SearchOptions:
    """The search that a manifest says.

    Raises:
        TypeError: When a value is of a wrong type.
        ValueError: When one is out of its range, or no search option.
    """
    return replace_options(SearchOptions(), **facts)
