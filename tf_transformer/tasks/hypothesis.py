"""One translation of one sentence, with what the search knows of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One translation of one sentence.

    Args:
        text: The translation.
        score: What hypotheses are ranked by: the log-probability under the length formula.
        log_probability: Natural log of the probability of all pieces and the end token; None where an
            exported model does not say.
        finished: False when the search reached the length limit before an end token; None likewise.
    """

    text: str
    score: float
    log_probability: float | None
    finished: bool | None
