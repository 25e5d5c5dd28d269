"""The section of a translation's recipe about its search."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from tf_transformer.presets import LONGEST_ANSWER, MOST_HYPOTHESES
from tf_transformer.recipe.fields import Flag, Section, Whole, key


class TranslateDecoding(Section):
    """The search that finds translations."""

    beam: Annotated[Whole, Field(ge=1, le=MOST_HYPOTHESES)] = key(
        4, "Hypotheses kept alive for each sentence; 1 is greedy.", midway="free"
    )
    length_formula: Literal["mean", "gnmt"] = key(
        "mean", "Score: log P / length^a (mean), or log P / ((5 + length) / 6)^a (gnmt).", midway="free"
    )
    length_penalty: Annotated[float, Field(ge=0, le=100)] = key(
        1.0, "The exponent a; the length counts the end token.", midway="free"
    )
    max_length_factor: Annotated[float, Field(ge=0, le=1000)] = key(
        2.0, "Longest answer: this many pieces for each source piece,", midway="free"
    )
    max_length_margin: Annotated[Whole, Field(ge=1, le=LONGEST_ANSWER)] = key(
        10, "and this many more.", midway="free"
    )
    min_length_factor: Annotated[float, Field(ge=0, le=1000)] = key(
        0.0, "Shortest answer: this many pieces for each source piece,", midway="free"
    )
    min_length_margin: Annotated[Whole, Field(ge=0, le=LONGEST_ANSWER)] = key(
        0, "and this many more; never more than the longest.", midway="free"
    )
    coverage_penalty: Annotated[float, Field(ge=0, le=100)] = key(
        0.0,
        "Weight in the score of log min(attention, 1) of each source piece (GNMT); 0 for none.",
        midway="free",
    )
    diversity: Annotated[float, Field(ge=0, le=1000)] = key(
        0.0,
        "Taken off an extension for each likelier one of the same hypothesis: n-best differ more.",
        midway="free",
    )
    repetition_penalty: Annotated[float, Field(gt=0, le=100)] = key(
        1.0, "Above 1, pieces that were there before become less likely.", midway="free"
    )
    no_repeat: Annotated[Whole, Field(ge=0, le=LONGEST_ANSWER)] = key(
        0, "So many pieces in a row never come twice; 0 for no such rule.", midway="free"
    )
    banned: Annotated[tuple[str, ...], Strict(False)] = key(
        (), "Pieces of the vocabulary that no answer has, as text; <unk> is the unknown piece.", midway="free"
    )
    replace_unknown: Flag = key(
        False,
        "Put the source word attended to most in place of an unknown piece; not in exports.",
        midway="free",
    )
    on_long: Literal["cut", "split"] = key(
        "cut",
        "A source over data.max_source_length: cut, or split where its sentences end. Exports cut.",
        midway="free",
    )
