"""Sentences that are over leave the batch, and what was found of them is kept."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.beam import beam_search
from tf_transformer.decoding.greedy import greedy_search
from tf_transformer.decoding.leaving import keep, leave


def test_those_that_are_over_leave_in_groups() -> None:
    found = (tf.range(19), {"x": tf.reshape(tf.range(38), [19, 2])})
    sentences = {"rows": tf.range(19) + 2}
    kept = (tf.fill([22], -1), {"x": tf.fill([22, 2], -1)})
    two_gone = tf.range(19) < 17
    stay, *unchanged = leave(two_gone, sentences, found, kept)  # of 24 and 16, only 24 holds 17
    np.testing.assert_array_equal(stay, range(19))
    assert unchanged == [sentences, found, kept]
    four_gone = (tf.range(19) != 0) & (tf.range(19) < 16)
    stay, sentences, found, kept = leave(four_gone, sentences, found, kept)
    np.testing.assert_array_equal(stay, range(16))  # the first fills the place of a sixteenth
    np.testing.assert_array_equal(sentences["rows"], range(2, 18))
    np.testing.assert_array_equal(found[1]["x"], np.arange(38).reshape(19, 2)[:16])
    np.testing.assert_array_equal(kept[0], [-1, -1, *range(19), -1])
    np.testing.assert_array_equal(kept[1]["x"].numpy()[[2, 20]], [[0, 1], [36, 37]])
    everything = keep(kept, sentences["rows"], (found[0] + 100, found[1]))
    np.testing.assert_array_equal(everything[0], [-1, -1, *range(100, 116), 16, 17, 18, -1])


@pytest.mark.parametrize(
    ("number", "size"), [(0, 0), (1, 1), (2, 2), (3, 4), (5, 6), (8, 8), (9, 16), (16, 16), (17, 24)]
)
def test_usual_sizes(number: int, size: int) -> None:
    active = tf.reverse(tf.range(29) < number, [0])
    stay, *_ = leave(active, {"rows": tf.range(29)}, tf.range(29), tf.range(29))
    assert len(stay) == size and set(range(29 - number, 29)) <= set(stay.numpy().tolist())


@pytest.mark.parametrize("beam_size", [1, 2])
def test_nothing_is_computed_for_them_any_more(toy: Any, beam_size: int) -> None:
    table = np.zeros((6, 6))
    table[:, 3], table[:, 4] = 0.6, 0.4  # never an end: the limits decide
    model = toy.Model.chain(table, num_sentences=4)
    fed: list[list[int]] = []

    def step(ids: tf.Tensor, cache: dict[str, Any]) -> Any:
        fed.append(cache["shared"]["sentence"].numpy().tolist())
        assert ids.shape == (len(fed[-1]), beam_size)
        return model.step(ids, cache)

    limits, cache = [2, 0, 4, 2], model.cache(range(4), beam_size)
    options = {"batch_size": 4, "max_lengths": limits, **toy.ids}
    if beam_size == 1:
        result = greedy_search(step, cache, **options)
    else:
        result = beam_search(step, cache, beam_size=beam_size, **options)
    assert fed == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [2], [2]]
    assert [len(toy.hypotheses(result, row)[0][0]) for row in range(4)] == limits
