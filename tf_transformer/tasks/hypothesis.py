"""One answer of a search or of sampling, with what is known of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence, or one continuation of a text.

    Args:
        text: The translation, or the continuation without its beginning.
        score: What hypotheses are ranked by: the log-probability under the length formula.
        log_probability: Natural log of the probability of all pieces and the end token; None where an
            exported model does not say.
        finished: False when the length limit was reached before an end token; None likewise.
    """

    text: str
    score: float
    log_probability: float | None
    finished: bool | None
