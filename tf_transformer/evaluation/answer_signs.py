"""Signs that translations give: of copying, of one token again and again, and of no end."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from tf_transformer.evaluation.signs import Sign

MOST = 0.9
"""Share of the answers that must show a sign; healthy models have it in single ones."""
LENGTH = 0.9
"""Share of the limit from which on an answer has met it: a text may have fewer pieces than were found."""
SAME = 0.5
"""Share of an answer that one piece makes up."""
SHORT = 4
"""Pieces of an answer that is too short to tell."""


def answer_signs(
    answers: Sequence[str],
    sources: Sequence[str],
    references: Sequence[str],
    pieces: Sequence[Sequence[int]],
    of_references: Sequence[Sequence[int]],
    limits: Sequence[int],
) -> Iterator[Sign]:
    """What most answers have in common, and their references have not.

    Args:
        answers: Translations of a dev set.
        sources: What they translate, normalised.
        references: What they should be, normalised.
        pieces: Ids of each answer, without special ones.
        of_references: Those of each reference.
        limits: The most pieces that the search allows for each answer.
    """
    if not answers:
        return
    copies = _share(answer == source for answer, source in zip(answers, sources, strict=True))
    right = _share(source == wanted for source, wanted in zip(sources, references, strict=True))
    if copies >= MOST > right:
        yield Sign(
            "copies",
            f"{copies:.0%} of the translations are their source, word for word; of the references, "
            f"{right:.0%}. The sides of the training text are probably the same, or exchanged",
        )
        return
    repeated, usual = _share(map(_repeats, pieces)), _share(map(_repeats, of_references))
    ended = [_share(map(_meets, texts, limits)) for texts in (pieces, of_references)]
    if repeated >= MOST > usual:
        yield Sign(
            "repeats",
            f"in {repeated:.0%} of the translations one piece makes up half or more: the model goes by what "
            "is frequent, or by the piece before, and not by the source. Either it has hardly begun to "
            "learn, or the learning rate is too high, or labels are not the inputs shifted by one place",
        )
    elif ended[0] >= MOST > ended[1]:
        yield Sign(
            "no end",
            f"{ended[0]:.0%} of the translations are as long as the search allows "
            "(decoding.max_length_factor): the end is never found. It is probably missing in the labels, "
            "or the model has hardly begun to learn",
        )
    elif len(set(answers)) == 1 < len(set(references)) and len(answers) > 1:
        yield Sign(
            "one answer",
            f"all of {len(answers)} sources have the same translation: the decoder does not go by the source",
        )


def _share(found: Iterator[bool]) -> float:
    return float(np.mean(list(found)))


def _repeats(ids: Sequence[int]) -> bool:
    return len(ids) >= SHORT and max(Counter(ids).values()) >= SAME * len(ids)


def _meets(ids: Sequence[int], limit: int) -> bool:
    return len(ids) >= LENGTH * limit
