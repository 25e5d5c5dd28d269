"""Signs that text does not fit together: sides that are exchanged, a tokenizer of other text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import log
from typing import Any

import numpy as np

from tf_transformer.build.text_data import evenly, make_tokenizer
from tf_transformer.errors import TextError
from tf_transformer.evaluation.signs import Sign
from tf_transformer.presets import UNKNOWN_ID
from tf_transformer.recipe import Text
from tf_transformer.text import Tokenizer

LINES = 1000
"""Lines of a side that say what it is like."""
SPAN = 3
"""Characters that are looked at together."""
APART = 0.2
"""Nats a character by which a side must be more like the other one: languages of one script differ by 1."""
UNKNOWN = 0.1
"""Share of pieces that are unknown to a tokenizer of other text."""
MORE_PIECES = 1.5
"""Times the pieces that a tokenizer of this text would need; one of another domain needs 1.0 to 1.2."""


class SideModel:
    """How frequent spans of characters are on a side.

    Args:
        texts: The side.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.spans = _spans(texts)
        self.total = self.spans.total()

    def nats(self, other: "SideModel") -> float:
        """What a span of another side costs by these frequencies, with one more of each of both."""
        known = len(self.spans.keys() | other.spans.keys())
        room = log(self.total + known)
        cost = sum(count * (room - log(self.spans[span] + 1)) for span, count in other.spans.items())
        return cost / max(other.total, 1)


def exchanged_sides(
    train: Sequence[str], other: Sequence[str], source: Sequence[str], target: Sequence[str], name: str
) -> Sign | None:
    """Whether each side of a set is more like the other side of training.

    Args:
        train: Sources of training.
        other: Its targets.
        source: Sources of the set.
        target: Its targets.
        name: What it is called.
    """
    models = [SideModel(sampled(texts)) for texts in (train, other)]
    sides = [SideModel(sampled(texts)) for texts in (source, target)]
    if not all(side.total for side in (*models, *sides)):
        return None
    by_source = models[0].nats(sides[0]) - models[1].nats(sides[0])
    by_target = models[1].nats(sides[1]) - models[0].nats(sides[1])
    if min(by_source, by_target) < APART:
        return None
    return Sign(
        "sides",
        f"the sides of train and {name} are exchanged: the sources of {name} are like the targets of train, "
        f"and its targets like the sources (by {by_source:.1f} and {by_target:.1f} nats for each "
        f"{SPAN} characters). A model that translates the one way is measured the other way",
    )


def foreign_tokenizer(tokenizer: Tokenizer, text: Text, lines: Sequence[str]) -> Sign | None:
    """Whether a tokenizer was made of other text, compared with one that is made of these lines.

    Args:
        tokenizer: Of training.
        text: The recipe's section, which says of what kind it is.
        lines: What it is to tokenise, normalised.
    """
    shown = sampled(lines)
    theirs, unknown = _pieces(tokenizer, shown)
    if unknown > UNKNOWN:
        return Sign(
            "tokenizer",
            f"the tokenizer does not know {unknown:.0%} of the pieces of the training text: it was made of "
            "other text. Its place is text.model",
        )
    size = tokenizer.vocabulary_size
    values: dict[str, Any] = {"model": None, "vocabulary_size": size}
    if text.tokenizer == "sentencepiece":
        values |= {"sentencepiece_type": "bpe", "byte_fallback": size > 1000}
    try:
        own = make_tokenizer(text.model_copy(update=values), shown)
    except TextError:  # too few lines for such a vocabulary
        return None
    times = theirs / max(_pieces(own, shown)[0], 1)
    if times < MORE_PIECES:
        return None
    return Sign(
        "tokenizer",
        f"the tokenizer cuts the training text into {times:.1f} times as many pieces as one of its size that "
        "is made of this text: it was made of other text. Its place is text.model",
    )


def sampled(lines: Sequence[str]) -> list[str]:
    """Some lines of a text, evenly spread."""
    chosen = np.flatnonzero(evenly(len(lines), LINES, max(len(lines), LINES)))
    return [lines[place] for place in chosen.tolist()]


def tokenizer_signs(text: Text, tokenizers: Iterable[tuple[Tokenizer, Sequence[str]]]) -> Iterator[Sign]:
    """What `foreign_tokenizer` says of the first tokenizer that it finds fault with.

    One that was made of the training text itself is of that text; nothing is asked of ``tokenizers`` then.
    """
    if text.model is None:
        return
    for tokenizer, lines in tokenizers:
        if lines and (sign := foreign_tokenizer(tokenizer, text, lines)) is not None:
            yield sign
            return


def _spans(texts: Sequence[str]) -> Counter[str]:
    return Counter(
        text[place : place + SPAN] for text in texts for place in range(max(len(text) - SPAN + 1, 0))
    )


def _pieces(tokenizer: Tokenizer, lines: Sequence[str]) -> tuple[int, float]:
    """How many pieces some lines have, and which share of them is unknown."""
    ids = tokenizer.tokenize(list(lines)).flat_values.numpy()
    return len(ids), float(np.mean(ids == UNKNOWN_ID)) if len(ids) else 0.0
