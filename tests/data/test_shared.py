"""What dev and test sets share with training data, as whole rows and side by side."""

from pathlib import Path

import numpy as np
import pytest

from tf_transformer.data.labelled import LabelledCorpus
from tf_transformer.data.report import CorpusReport
from tf_transformer.data.shared import WHOLE, Shared, TrainingRows
from tf_transformer.data.sources import Corpus


def corpus(name: str, **columns: list[str]) -> Corpus:
    """A corpus whose rows begin in line 2."""
    size = len(next(iter(columns.values())))
    return Corpus(columns, np.arange(2, size + 2), name, (Path(name),), CorpusReport(name, size))


def counts(found: list[Shared]) -> dict[str, int]:
    """How many rows are shared, by what is equal."""
    return {each.what: each.count for each in found}


def test_whole_rows_and_rows_of_which_one_side_is_there() -> None:
    train = [
        corpus("one", source=["a", "b", "c"], target=["A", "B", "C"]),
        corpus("two", source=["a", "d"], target=["AA", "D"]),
    ]
    dev = corpus("dev", source=["a", "b", "x", "d", "y"], target=["AA", "X", "C", "A", "Y"])
    found = TrainingRows(train).shared_with("dev", [dev])
    # a-AA is a row of two; b and d have other targets; C and A are targets of other sources.
    assert counts(found) == {WHOLE: 1, "source": 2, "target": 2}
    assert [each.to_dict()["first"] for each in found] == [
        [{"there": "dev:2", "in_train": "two:2", "text": "a | AA"}],
        [
            {"there": "dev:3", "in_train": "one:3", "text": "b"},
            {"there": "dev:5", "in_train": "two:3", "text": "d"},
        ],
        [
            {"there": "dev:4", "in_train": "one:4", "text": "C"},
            {"there": "dev:5", "in_train": "one:2", "text": "A"},
        ],
    ]
    assert {each.size for each in found} == {5}


def test_only_some_are_shown_and_several_references_are_left_out() -> None:
    train = [corpus("train", source=["a"], target=["b"])]
    found = TrainingRows(train).shared_with(
        "test", [corpus("test", source=["a"] * 7, target=["b"] * 7, target_2=["c"] * 7)]
    )
    assert counts(found) == {WHOLE: 7, "source": 0, "target": 0}
    assert len(found[0].first) == 3 and found[0].first[0].text == "a | b | c"


def test_labels_are_in_both_by_their_nature() -> None:
    train = [corpus("train", text=["good film", "bad film"], label=["up", "down"])]
    dev = corpus("dev", text=["good film", "bad film", "other"], label=["up", "up", "down"])
    assert counts(TrainingRows(train).shared_with("dev", [dev])) == {WHOLE: 1, "text": 1}


def test_a_long_text_counts_line_by_line() -> None:
    train = [corpus("train", text=["to be\n\nor not\nto be"])]
    found = TrainingRows(train).shared_with("dev", [corpus("dev", text=["that is\nor not\n\nthe question"])])
    assert counts(found) == {WHOLE: 1} and found[0].size == 3
    assert found[0].first[0].there == "dev:3" and found[0].first[0].in_train == "train:4"


@pytest.mark.parametrize("shapes", [((3, 3, 1), (3, 3, 1)), ((2, 5), (4, 5))])
def test_pictures_and_sequences(shapes: tuple[tuple[int, ...], ...]) -> None:
    inputs = [np.full(shape, number, np.float32) for number, shape in enumerate(shapes)]

    def labelled(name: str, rows: list[int], labels: list[str]) -> LabelledCorpus:
        places, lines = [f"row {row}" for row in rows], np.arange(len(rows)) + 1
        report = CorpusReport(name, len(rows))
        return LabelledCorpus(
            [inputs[row] for row in rows], labels, places, lines, name, (Path(name),), report
        )

    train = [labelled("train.npz", [0, 1], ["x", "y"])]
    found = TrainingRows(train).shared_with("dev", [labelled("dev.npz", [0, 1], ["x", "x"])])
    assert counts(found) == {WHOLE: 1, "example": 1}
    assert found[0].first[0].there == "dev.npz, row 0" and found[0].first[0].text == "x"


def test_without_training_text_nothing_is_shared() -> None:
    assert counts(TrainingRows([]).shared_with("dev", [corpus("dev", source=["a"], target=["b"])])) == {
        WHOLE: 0
    }
