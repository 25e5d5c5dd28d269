"""Searches over models drawn at random: sorted, never better than the best of all, and each row by itself."""

import math

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tf_transformer.decoding.beam import beam_search

few = settings(max_examples=12, deadline=None, derandomize=True)
ROWS, LONGEST = 3, 2
EVERYTHING = 36  # nine hypotheses of two pieces, with four extensions each
draws = {
    "seed": st.integers(0, 2**16),
    "spread": st.sampled_from([0.1, 1.0, 4.0]),
    "limits": st.lists(st.integers(0, LONGEST), min_size=ROWS, max_size=ROWS),
}


@pytest.fixture(scope="module", params=[("mean", 1.0), ("gnmt", 0.6)], ids=["mean", "gnmt"])
def formula(request):
    return request.param


@pytest.fixture(scope="module")
def searches(toy, formula):
    """One traced search for each beam, over the logits that it is given."""

    def traced(beam_size):
        model = toy.Model(np.zeros((ROWS, toy.vocabulary**LONGEST, toy.vocabulary)))

        @tf.function(autograph=False)
        def search(logits, sentences, limits):
            model.logits = logits
            return beam_search(
                model.step,
                model.cache(sentences, beam_size),
                batch_size=tf.shape(sentences)[0],
                beam_size=beam_size,
                max_lengths=limits,
                length_formula=formula[0],
                length_penalty=formula[1],
                **toy.ids,
            )

        return lambda model, rows, limits: search(
            tf.constant(model.logits), tf.constant(rows, tf.int32), tf.constant(limits, tf.int32)
        )

    return {beam_size: traced(beam_size) for beam_size in (2, EVERYTHING)}


@few
@given(**draws)
def test_sorted_and_never_better_than_the_best_of_all(toy, formula, searches, seed, spread, limits):
    model = toy.Model.random(ROWS, LONGEST, seed, spread)
    result = searches[2](model, range(ROWS), limits)
    for row, limit in enumerate(limits):
        every = toy.brute_force(model, row, limit, *reversed(formula))
        scores = {tuple(pieces): value for pieces, _, value in every}
        finished = result.finished[row].numpy()
        found = result.scores[row].numpy()
        assert (np.diff(found[finished]) <= 0.0).all() and (np.diff(finished.astype(int)) <= 0).all()
        for (pieces, _, value), ended in zip(toy.hypotheses(result, row), finished, strict=False):
            if ended:
                assert value == pytest.approx(scores[tuple(pieces)], rel=1e-4, abs=1e-6)
                assert value <= every[0][2] + 1e-5


@few
@given(**draws)
def test_a_beam_that_holds_everything_is_brute_force(toy, formula, searches, seed, spread, limits):
    model = toy.Model.random(ROWS, LONGEST, seed, spread)
    result = searches[EVERYTHING](model, range(ROWS), limits)
    for row, limit in enumerate(limits):
        expected = toy.brute_force(model, row, limit, *reversed(formula))
        found = toy.hypotheses(result, row)[: len(expected)]
        assert {tuple(pieces) for pieces, _, _ in found} == {tuple(pieces) for pieces, _, _ in expected}
        values = [[value for _, _, value in rows] for rows in (found, expected)]
        np.testing.assert_allclose(*values, rtol=1e-4, atol=1e-6)


@few
@given(**draws, order=st.permutations(range(ROWS)))
def test_neighbours_and_places_do_not_matter(toy, searches, seed, spread, limits, order):
    model = toy.Model.random(ROWS, LONGEST, seed, spread)
    together = searches[2](model, order, [limits[row] for row in order])
    for place, row in enumerate(order):
        alone = searches[2](model, [row], [limits[row]])
        assert toy.hypotheses(together, place) == toy.hypotheses(alone, 0)
    assert math.isfinite(float(tf.reduce_max(together.scores)))
