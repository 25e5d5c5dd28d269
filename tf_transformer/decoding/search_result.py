"""What every search returns."""

from typing import Any, NamedTuple

Tensor = Any


class SearchResult(NamedTuple):
    """Hypotheses of each sentence, best first.

    B sentences, K hypotheses, T the largest number of pieces among them. Finished hypotheses come before
    those that reached the limit; a place for which there is no hypothesis has a score of -inf and length 0.

    Attributes:
        ids: int32 `[B, K, T]`, without start and end, padded with 0.
        lengths: int32 `[B, K]`, number of tokens, the end token of finished hypotheses counted.
        scores: float32 `[B, K]`, what hypotheses are ranked by: see `ranking_score`.
        log_probabilities: float32 `[B, K]`, of the pieces and, when finished, the end token.
        finished: bool `[B, K]`, whether the model itself ended the hypothesis.
    """

    ids: Tensor
    lengths: Tensor
    scores: Tensor
    log_probabilities: Tensor
    finished: Tensor
