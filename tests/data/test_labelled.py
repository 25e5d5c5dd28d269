"""Dev sets carved from examples: by their content, so that equal ones stay together."""

from pathlib import Path

import numpy as np
import pytest

from tf_transformer.data.labelled import LabelledCorpus, split_examples
from tf_transformer.data.report import CorpusReport
from tf_transformer.errors import DataError


def corpus(inputs: np.ndarray) -> LabelledCorpus:
    count = len(inputs)
    names = [str(number) for number in range(count)]
    lines = np.arange(1, count + 1)
    return LabelledCorpus(inputs, names, names, lines, "x", (Path("x"),), CorpusReport("x", count))


IMAGES = np.random.default_rng(1).integers(0, 256, (600, 2, 3, 1)).astype("uint8")


def test_a_share_is_carved_and_nothing_is_lost() -> None:
    rest, carved = split_examples(corpus(IMAGES), 0.25)
    assert 110 < len(carved) < 190
    assert sorted(rest.lines.tolist() + carved.lines.tolist()) == list(range(1, 601))
    assert rest.report.to_lines()[0] == f"x: 600 rows read, {len(rest)} kept"


def test_equal_examples_stay_together_and_others_do_not_move_them() -> None:
    twice = np.concatenate([IMAGES[:100], IMAGES[50:]])
    whole = {image.tobytes() for image in split_examples(corpus(IMAGES), 0.25)[1].inputs}
    rest, carved = split_examples(corpus(twice), 0.25)
    sides = [{image.tobytes() for image in side.inputs} for side in (rest, carved)]
    assert not sides[0] & sides[1] and sides[1] == whole


def test_fractions_that_split_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`fraction` must be above 0 and below 1. Received: 1"):
        split_examples(corpus(IMAGES), 1)
    with pytest.raises(DataError, match=r"a fraction of 0.01 of 2 examples leaves one side without any"):
        split_examples(corpus(IMAGES[:2]), 0.01)
