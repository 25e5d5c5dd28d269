"""Search options: what is refused, how numbers become plain, and the one limit of the beam."""

import math
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from tf_transformer.presets import LONGEST_ANSWER, MOST_HYPOTHESES
from tf_transformer.recipe.translate import TranslateDecoding, TranslateEvaluation
from tf_transformer.tasks.options import SearchOptions, replace_options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 3}, r"Search options must be among beam_size, .*on_long\. Received: beam"),
        ({"beam_size": 0}, r"`beam_size` must be from 1 to 1000\. Received: 0"),
        ({"beam_size": 100_000}, r"`beam_size` must be from 1 to 1000\. Received: 100000"),
        ({"length_formula": "sum"}, r"`length_formula` must be one of mean, gnmt\. Received: 'sum'"),
        ({"length_penalty": -1.0}, r"`length_penalty` must be a finite number, at least 0\. Received: -1"),
        ({"length_penalty": math.nan}, r"`length_penalty` must be a finite .*Received: nan"),
        ({"length_penalty": math.inf}, r"`length_penalty` must be a finite .*Received: inf"),
        ({"max_length_factor": -0.5}, r"`max_length_factor` must be a finite .*Received: -0\.5"),
        ({"max_length_factor": math.nan}, r"`max_length_factor` must be a finite .*Received: nan"),
        ({"min_length_factor": -0.5}, r"`min_length_factor` must be a finite .*Received: -0\.5"),
        ({"min_length_margin": -1}, r"`min_length_margin` must be from 0 to 1000000\. Received: -1"),
        ({"coverage_penalty": -1.0}, r"`coverage_penalty` must be a finite .*Received: -1\.0"),
        ({"diversity": math.inf}, r"`diversity` must be a finite .*Received: inf"),
        ({"repetition_penalty": 0.0}, r"`repetition_penalty` must be more than 0\. Received: 0\.0"),
        ({"no_repeat": -1}, r"`no_repeat` must be from 0 to 1000000\. Received: -1"),
        ({"top_p": 1.5}, r"`top_p` must be more than 0 and at most 1\. Received: 1\.5"),
        ({"on_long": "drop"}, r"`on_long` must be one of cut, split, refuse\. Received: 'drop'"),
        ({"max_length_margin": -1}, r"`max_length_margin` must be from 0 to 1000000\. Received: -1"),
    ],
)
def test_values_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace_options(SearchOptions(), **options)


@pytest.mark.parametrize("wrong", ["2", None, [2], True])
@pytest.mark.parametrize("name", ["beam_size", "length_penalty", "max_length_factor", "max_length_margin"])
def test_values_of_a_wrong_type(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=rf"`{name}` must be a (whole|finite) number, .*Received: "):
        SearchOptions(**{name: wrong})


@pytest.mark.parametrize("name", ["beam_size", "max_length_margin"])
def test_sizes_are_whole(name: str) -> None:
    with pytest.raises(TypeError, match=rf"`{name}` must be a whole number, .*Received: 2\.5"):
        SearchOptions(**{name: 2.5})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["sample", "replace_unknown"])
def test_flags_are_true_or_false(name: str) -> None:
    with pytest.raises(TypeError, match=rf"`{name}` must be true or false\. Received: 1"):
        SearchOptions(**{name: 1})  # type: ignore[arg-type]


def test_options_replace_single_fields() -> None:
    options = SearchOptions(beam_size=7)
    assert replace_options(options, length_penalty=0.5) == SearchOptions(beam_size=7, length_penalty=0.5)
    assert replace_options(options) == options


def test_numbers_of_numpy_become_plain() -> None:
    options = SearchOptions(np.int64(3), np.float32(0.5), "gnmt", 2, np.int32(5))  # type: ignore[arg-type]
    assert options == SearchOptions(3, 0.5, "gnmt", 2.0, 5)
    assert [type(value) for value in vars(options).values()][:5] == [int, float, str, float, int]


@pytest.mark.parametrize(
    ("section", "key", "most"),
    [
        (TranslateDecoding, "beam", MOST_HYPOTHESES),
        (TranslateEvaluation, "beam", MOST_HYPOTHESES),
        (TranslateDecoding, "max_length_margin", LONGEST_ANSWER),
    ],
)
def test_the_recipe_has_the_same_limits(section: type[BaseModel], key: str, most: int) -> None:
    assert getattr(section(**{key: most}), key) == most
    with pytest.raises(ValidationError):
        section(**{key: most + 1})
