"""Texts for TensorBoard: nothing in them is taken for Markdown, and changes can be seen."""

import numpy as np
import pytest

from tf_transformer.callbacks.board.texts import data_report, plain, samples_table, word_difference
from tf_transformer.evaluation import Sample


@pytest.mark.parametrize(
    ("before", "now", "shown"),
    [
        ("the cat sat", "the cat sat", "the cat sat"),
        ("the cat sat", "the dog sat down", "the *(cat)* **dog** sat **down**"),
        ("", "new words", "**new words**"),
        ("gone now", "", "*(gone now)*"),
        ("我爱你", "我也爱他", "我 **也** 爱 *(你)* **他**"),
        ("a *b*", "a `c`", "a *(\\*b\\*)* **\\`c\\`**"),
    ],
)
def test_a_difference_word_by_word(before: str, now: str, shown: str) -> None:
    assert word_difference(before, now) == shown


def test_plain_text_stays_what_it_is_on_one_line() -> None:
    assert plain("a|b\n<i>_c_ # 1\\2") == "a\\|b \\<i\\>\\_c\\_ \\# 1\\\\2"


def test_a_table_of_samples_has_the_columns_that_it_needs() -> None:
    samples = [Sample("s", "r", "o", 50.0), Sample("t", "q", "p")]
    assert samples_table(samples, {}) == (
        "| source | reference | output | score |\n| --- | --- | --- | --- |\n"
        "| s | r | o | 50.0 |\n| t | q | p |  |"
    )
    assert samples_table([Sample("s", "r", "o"), Sample("t", "q", "p")], {"s": "o"}) == (
        "| source | reference | output | change |\n| --- | --- | --- | --- |\n"
        "| s | r | o | same |\n| t | q | p | new |"
    )


def test_the_report_on_data_ends_with_its_lengths() -> None:
    report = data_report(["train: 3 rows read, 2 kept", "  dropped: empty: 1"], {"source": np.array([3, 5])})
    assert report == (
        "```\ntrain: 3 rows read, 2 kept\n  dropped: empty: 1\n```\n\n"
        "| positions | shortest | 5 % | median | 95 % | longest | mean |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| source | 3 | 3 | 4 | 5 | 5 | 4.0 |"
    )
    assert data_report(["none"], {}) == "```\nnone\n```"
