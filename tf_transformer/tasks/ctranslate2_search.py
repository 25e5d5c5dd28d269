"""CTranslate2's search under the rules of a translator's.

It ranks by log P / length^a as ``mean`` does; its length is that of the pieces alone unless it is asked for
the end token, which it is here. It keeps what was cut at the longest length among what has ended, and has one
longest length for a whole batch: sentences that this touches are searched for once more by themselves. With
an exponent above 0 it stops when as many hypotheses have ended as the beam is wide, which may be before the
best one has: then an answer can differ from that of a run. Pieces that may not come (banned, a repetition, an
end too soon) it leaves out before probabilities are made, so that those of others grow.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tf_transformer.presets import END_ID, LONGEST_ANSWER, SPECIAL_TOKENS
from tf_transformer.tasks.options import SearchOptions

END = SPECIAL_TOKENS[END_ID]
_POSITIONS_AT_ONCE = 4096
"""Source pieces times hypotheses in one batch."""


@dataclass(frozen=True)
class Found:
    """One hypothesis.

    Args:
        pieces: Without the end token.
        log_probability: Of all of it.
        finished: Whether the end token followed.
    """

    pieces: tuple[str, ...]
    log_probability: float
    finished: bool

    def score(self, options: SearchOptions) -> float:
        """What it is ranked by."""
        length = max(1.0, float(len(self.pieces) + self.finished))
        if options.length_formula == "gnmt":
            length = (5.0 + length) / 6.0
        return self.log_probability / float(length**options.length_penalty)


class CTranslate2Search:
    """One way to search.

    Args:
        engine: A ``ctranslate2.Translator``.
        options: How to search.
        number: Hypotheses of each sentence, at most the beam.
        banned: Pieces that may not come, padding among them.
        longest: The most pieces of an answer, whatever the options say.
    """

    def __init__(
        self,
        engine: Any,
        options: SearchOptions,
        number: int,
        banned: Sequence[str],
        longest: int,
    ) -> None:
        self.engine = engine
        self.options = options
        self.number = number
        self.longest = longest
        self.common: dict[str, Any] = {
            "beam_size": options.beam_size,
            "length_penalty": options.length_penalty,
            "coverage_penalty": options.coverage_penalty,
            "repetition_penalty": options.repetition_penalty,
            "no_repeat_ngram_size": options.no_repeat,
            "suppress_sequences": [[piece] for piece in banned],
            "max_input_length": 0,
            "return_scores": True,
            "return_end_token": True,
        }

    def answers(self, sources: Sequence[Sequence[str]], sizes: Sequence[int]) -> list[list[Found]]:
        """The hypotheses of each sentence, best first.

        Args:
            sources: The pieces of each but the end token.
            sizes: How many of them are text; without any, the answer is empty.
        """
        found = [[Found((), 0.0, True)] * self.number for _ in sources]
        for rows in self._batches(sizes):
            answers = self._batch([sources[row] for row in rows], [sizes[row] for row in rows])
            for row, several in zip(rows, answers, strict=True):
                found[row] = several
        return found

    def _batches(self, sizes: Sequence[int]) -> Iterator[list[int]]:
        """Rows of similar length together; of equal length where a shortest answer depends on it."""
        order = sorted((row for row, size in enumerate(sizes) if size), key=lambda row: sizes[row])
        batch: list[int] = []
        for row in order:
            full = (len(batch) + 1) * sizes[row] * self.options.beam_size > _POSITIONS_AT_ONCE
            other = bool(batch) and self.options.min_length_factor > 0 and sizes[row] != sizes[batch[0]]
            if batch and (full or other):
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def _batch(self, sources: Sequence[Sequence[str]], sizes: Sequence[int]) -> list[list[Found]]:
        options = self.options
        limits = [min(self.longest, self._length(size, "max")) for size in sizes]
        least = min(self._length(sizes[0], "min"), *limits)
        # By a formula that it does not know all are ranked here; asked for the best alone, it stops sooner.
        number = options.beam_size if options.length_formula == "gnmt" else self.number
        found = self._call(sources, max(limits), least, number)
        for row, limit in enumerate(limits):
            if any(not one.finished or len(one.pieces) > limit for one in found[row]):
                found[row] = self._exact(sources[row], limit, least)
        return [self._ranked(several) for several in found]

    def _exact(self, source: Sequence[str], limit: int, least: int) -> list[Found]:
        """The hypotheses of one sentence within its own limit: those that ended, then those that were cut."""
        beam = self.options.beam_size
        (several,) = self._call([source], limit, least, beam)
        ended = [one for one in several if one.finished]
        if len(ended) >= self.number:
            return ended
        if limit == 0:
            return [*ended, Found((), 0.0, False)]
        # One token less, so that no hypothesis has one behind its last piece.
        (several,) = self._call([source], limit - 1, least, beam)
        return [*ended, *(one for one in several if not one.finished)]

    def _length(self, size: int, end: str) -> int:
        factor = getattr(self.options, f"{end}_length_factor")
        margin: int = getattr(self.options, f"{end}_length_margin")
        return int(min(math.floor(size * factor) + margin, LONGEST_ANSWER))

    def _ranked(self, several: list[Found]) -> list[Found]:
        """Those that ended, best first, then those that were cut; places without any are empty."""
        order = sorted(several, key=lambda one: (not one.finished, -one.score(self.options)))
        empty = [Found((), -math.inf, False)] * (self.number - len(order))
        return [*order[: self.number], *empty]

    def _call(
        self, sources: Sequence[Sequence[str]], most: int, least: int, number: int
    ) -> list[list[Found]]:
        found = self.engine.translate_batch(
            [list(source) for source in sources],
            num_hypotheses=number,
            max_decoding_length=most + 1,  # the end token counts
            min_decoding_length=min(least, most),
            **self.common,
        )
        return [[self._read(*pair) for pair in zip(one.hypotheses, one.scores, strict=True)] for one in found]

    def _read(self, pieces: Sequence[str], score: float) -> Found:
        finished = bool(pieces) and pieces[-1] == END
        total = score * float(max(1, len(pieces)) ** self.options.length_penalty)
        return Found(tuple(pieces[:-1] if finished else pieces), total, finished)


def spellings(tokens: Sequence[str]) -> list[str]:
    """Pieces as CTranslate2 knows them, all different: one spelled as another gets its id behind it."""
    seen: set[str] = set()
    found = []
    for number, token in enumerate(tokens):
        while token in seen:
            token = f"{token}#{number}"
        seen.add(token)
        found.append(token)
    return found
