"""Labels to numbers: a strange one is named, or wrong; it is never another one."""

import pytest

from tf_transformer.data.label_numbers import label_numbers
from tf_transformer.errors import DataError


def place(row: int) -> str:
    return f"dev.tsv, line {row + 2}"


def test_numbers_are_places() -> None:
    assert label_numbers(["b", "a", "b"], ["a", "b"], place).tolist() == [1, 0, 1]


def test_a_strange_label_is_named_with_file_and_line() -> None:
    message = (
        r"dev\.tsv, line 3: the label must be one that training has seen: a, b\. Received: 'c' "
        r"\(and 1 further example\)\. Correct it, or set `evaluation\.unseen_labels` to 'wrong'"
    )
    with pytest.raises(DataError, match=message):
        label_numbers(["a", "c", "B"], ["a", "b"], place)


def test_or_counts_as_wrong() -> None:
    assert label_numbers(["a", "c", "a "], ["a", "b"], place, "wrong").tolist() == [0, -1, -1]


def test_not_all_of_many_labels_are_listed() -> None:
    with pytest.raises(DataError, match=r"seen: 0, .*11, …\. Received: 'x'"):
        label_numbers(["x"], [str(number) for number in range(50)], place)
