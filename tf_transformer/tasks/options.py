"""How translations are searched for, checked when it is said and not when it is needed."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.decoding.arguments import check_sizes
from tf_transformer.decoding.length_penalty import LengthFormula, check_length_penalty
from tf_transformer.presets import LONGEST_ANSWER
from tf_transformer.tasks.piece_rules import plain_rules

OnLong = Literal["cut", "split", "refuse"]


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
        min_length_factor: Pieces that each answer has at least for each source piece.
        min_length_margin: And so many more, within the most that are allowed.
        coverage_penalty: The weight beta of the sum, over source pieces, of log min(attention got, 1), which
            is added to the score of what ends (Wu et al., 2016, equation 14); 0 for none. For a beam above 1.
        diversity: What is taken off a hypothesis, when it is chosen, for each likelier one with the same
            parent; 0 for nothing. For a beam above 1.
        repetition_penalty: Pieces of the answer so far are made less likely by this factor of their logits,
            and the search ranks by what is likely then; 1 for none.
        no_repeat: So many pieces in a row never come twice in an answer; 0 for no such rule.
        banned: Pieces of the vocabulary that no answer has, as text; ``"<unk>"`` is the unknown piece.
        sample: Draw answers at random, by the next four, instead of searching for the best.
        temperature: The logits are divided by it; 0 always takes the likeliest.
        top_k: Only so many of the likeliest pieces may be drawn; 0 for all.
        top_p: Only the likeliest pieces that together have this probability may be drawn; 1 for all.
        seed: Of the random numbers.
        replace_unknown: Put the source word that it attends to most in place of each unknown piece; not in a
            SavedModel.
        on_long: What becomes of a source that is longer than the model reads: ``"cut"``, its end is not read;
            ``"split"``, it is read in parts that end where sentences do, and the answers are joined;
            ``"refuse"``. A SavedModel cuts.

    Raises:
        TypeError: When a number is none, or a size is not whole.
        ValueError: When a value is out of its range.
    """

    beam_size: int = 4
    length_penalty: float = 1.0
    length_formula: LengthFormula = "mean"
    max_length_factor: float = 2.0
    max_length_margin: int = 10
    min_length_factor: float = 0.0
    min_length_margin: int = 0
    coverage_penalty: float = 0.0
    diversity: float = 0.0
    repetition_penalty: float = 1.0
    no_repeat: int = 0
    banned: tuple[str, ...] = ()
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    replace_unknown: bool = False
    on_long: OnLong = "cut"

    def __post_init__(self) -> None:
        check_length_penalty(self.length_penalty, self.length_formula)
        for name in ("sample", "replace_unknown"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"`{name}` must be true or false. Received: {getattr(self, name)!r}")
        if self.on_long not in get_args(OnLong):
            raise ValueError(
                f"`on_long` must be one of {', '.join(get_args(OnLong))}. Received: {self.on_long!r}"
            )
        # NumPy's numbers become plain ones: equal options are one traced graph.
        plain = {
            "beam_size": check_sizes(self.beam_size, None)[0],
            "length_penalty": float(self.length_penalty),
            **plain_rules(self),
        }
        for name in ("max_length_factor", "min_length_factor", "coverage_penalty", "diversity"):
            plain[name] = finite_number(name, getattr(self, name), 0.0)
        for name in ("max_length_margin", "min_length_margin"):
            plain[name] = whole_number(name, getattr(self, name), 0, LONGEST_ANSWER)
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @property
    def of_graph(self) -> "SearchOptions":
        """The same but for what no graph knows of, or what it is given beside each text."""
        plain = SearchOptions()
        beside = {name: getattr(plain, name) for name in ("temperature", "top_k", "top_p", "seed")}
        return replace(self, replace_unknown=False, on_long="cut", **beside)


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
