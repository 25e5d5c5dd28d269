"""The score by which hypotheses of different lengths are ranked."""

from typing import Any, Literal, get_args

import tensorflow as tf

from tf_transformer.arguments import finite_number

Tensor = Any
LengthFormula = Literal["mean", "gnmt"]


def check_length_penalty(length_penalty: Any, length_formula: str) -> None:
    """Raises TypeError or ValueError unless both make a formula.

    A negative exponent is refused: it would reward short hypotheses, which no bound of the search expects.
    """
    if length_formula not in get_args(LengthFormula):
        raise ValueError(
            f"`length_formula` must be one of {', '.join(get_args(LengthFormula))}. "
            f"Received: {length_formula!r}"
        )
    if not tf.is_tensor(length_penalty):  # what a tensor holds is not known yet
        finite_number("length_penalty", length_penalty, 0.0)


def ranking_score(
    log_probabilities: Tensor,
    lengths: Tensor,
    length_penalty: float | Tensor,
    length_formula: LengthFormula,
) -> Tensor:
    """Log-probability divided by a power of the length.

    `"mean"`: log P / length ** a, the mean log-probability of a token for a = 1.
    `"gnmt"`: log P / ((5 + length) / 6) ** a (Wu et al., 2016, equation 14).
    In both a = 0 ranks by probability alone. Since no log-probability is above 0, the score of a given
    log-probability never falls with the length.

    Args:
        log_probabilities: float32 of any shape.
        lengths: int32 numbers of tokens, the end token counted, of a shape that broadcasts.
        length_penalty: The exponent a, a number or a tensor of a shape that broadcasts.
        length_formula: `"mean"` or `"gnmt"`.

    Returns:
        The scores, float32.
    """
    lengths = tf.maximum(tf.cast(lengths, tf.float32), 1.0)  # nothing at all counts as one token
    if length_formula == "gnmt":
        lengths = (5.0 + lengths) / 6.0
    return log_probabilities / tf.pow(lengths, length_penalty)
