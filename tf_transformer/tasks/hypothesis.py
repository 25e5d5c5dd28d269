"""One answer of a search or of sampling, with what is known of it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Details:
    """An answer piece by piece, as the model reads it again from beginning to end.

    Args:
        pieces: The pieces of the answer; the end token is none.
        log_probabilities: Of each piece and, where the answer was ended, of the end token: the model's own.
        source_pieces: Of the source, its end token and special tokens among them.
        attention: For each number in ``log_probabilities``, how much of each source piece it was made from;
            each row sums to 1.
        alignment: For each piece the place of the source piece that it attends to most; no special token and
            no end token is one. -1 where the source has no piece.
    """

    pieces: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    source_pieces: tuple[str, ...]
    attention: tuple[tuple[float, ...], ...]
    alignment: tuple[int, ...]


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence, or one continuation of a text.

    Args:
        text: The translation, or the continuation without its beginning.
        score: What hypotheses are ranked by: the log-probability under the length formula.
        log_probability: Natural log of the probability of all pieces and the end token; None where an
            exported model does not say.
        finished: False when the length limit was reached before an end token; None likewise.
        details: Of a translation, where they were asked for.
    """

    text: str
    score: float
    log_probability: float | None
    finished: bool | None
    details: Details | None = None

    def saying(self, text: str, details: Details | None) -> "Hypothesis":
        """The same with another text."""
        return replace(self, text=text, details=details)
