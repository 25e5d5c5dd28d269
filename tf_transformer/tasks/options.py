"""How translations are searched for, checked when it is said and not when it is needed."""

from dataclasses import dataclass
from typing import Any

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.decoding.arguments import check_sizes
from tf_transformer.decoding.length_penalty import LengthFormula, check_length_penalty
from tf_transformer.presets import LONGEST_ANSWER


@dataclass(frozen=True)
class SearchOptions:
    """How translations are searched for.

    Args:
        beam_size: Hypotheses kept alive for each sentence, at most ``presets.MOST_HYPOTHESES``; 1 is greedy
            search.
        length_penalty: The exponent alpha of the length formula; 0 ranks by log-probability.
        length_formula: ``"gnmt"``: log P / ((5 + length) / 6)^alpha, ``"mean"``: log P / length^alpha;
            the length counts the end token.
        max_length_factor: Pieces allowed for each source piece.
        max_length_margin: Pieces allowed beyond that; never more than ``presets.LONGEST_ANSWER`` in all.

    Raises:
        TypeError: When a number is none, or a size is not whole.
        ValueError: When a value is out of its range.
    """

    beam_size: int = 4
    length_penalty: float = 1.0
    length_formula: LengthFormula = "mean"
    max_length_factor: float = 2.0
    max_length_margin: int = 10

    def __post_init__(self) -> None:
        check_length_penalty(self.length_penalty, self.length_formula)
        # NumPy's numbers become plain ones: equal options are one traced graph.
        plain = {
            "beam_size": check_sizes(self.beam_size, None)[0],
            "length_penalty": float(self.length_penalty),
            "max_length_factor": finite_number("max_length_factor", self.max_length_factor, 0.0),
            "max_length_margin": whole_number("max_length_margin", self.max_length_margin, 0, LONGEST_ANSWER),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)


def replace_options(options: SearchOptions, **search: Any) -> SearchOptions:
    """``options`` with some fields replaced.

    Raises:
        TypeError: For a value of a wrong type.
        ValueError: For a field that does not exist or a value out of its range.
    """
    if not isinstance(options, SearchOptions):
        raise TypeError(f"`options` must be SearchOptions. Received: {options!r}")
    unknown = sorted(set(search) - set(SearchOptions.__dataclass_fields__))
    if unknown:
        known = ", ".join(SearchOptions.__dataclass_fields__)
        raise ValueError(f"Search options must be among {known}. Received: {', '.join(unknown)}")
    return SearchOptions(**{**options.__dict__, **search})
