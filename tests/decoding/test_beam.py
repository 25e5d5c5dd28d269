"""Beam search against brute force, a textbook search without any early stop, and cases by hand."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.beam import beam_search
from tf_transformer.decoding.greedy import greedy_search

FORMULAS = [("mean", 0.0), ("mean", 1.0), ("mean", 2.0), ("gnmt", 0.6), ("gnmt", 2.0)]
LENGTHS = [3, 0, 2, 3, 1]


@pytest.fixture(scope="module")
def model(toy):
    return toy.Model.random(num_sentences=29, max_length=4)


def run(model, toy, sentences, beam_size, max_lengths, **options):
    return beam_search(
        model.step,
        model.cache(sentences, beam_size),
        batch_size=len(sentences),
        beam_size=beam_size,
        max_lengths=max_lengths,
        **{**toy.ids, **options},
    )


def agree(found, expected):
    assert [pieces for pieces, _, _ in found] == [pieces for pieces, _, _ in expected]
    np.testing.assert_allclose([row[1:] for row in found], [row[1:] for row in expected], rtol=1e-4)


@pytest.mark.parametrize(("formula", "alpha"), FORMULAS)
def test_a_beam_that_holds_everything_is_brute_force(toy, model, formula, alpha):
    # 27 hypotheses of 3 pieces have 4 extensions each: 108 fit into the beam.
    result = run(model, toy, range(5), 108, LENGTHS, length_penalty=alpha, length_formula=formula)
    for sentence, max_length in enumerate(LENGTHS):
        expected = toy.brute_force(model, sentence, max_length, alpha, formula)
        found = toy.hypotheses(result, sentence)
        agree(found[: len(expected)], expected)
        finished = result.finished[sentence].numpy()
        assert finished[: len(expected)].all() and not finished[len(expected) :].any()
        lengths = [len(pieces) + 1 for pieces, _, _ in expected]
        assert result.lengths[sentence, : len(expected)].numpy().tolist() == lengths


@pytest.mark.parametrize(("formula", "alpha"), FORMULAS)
@pytest.mark.parametrize(("beam_size", "num_results"), [(1, 1), (2, 1), (3, 1), (3, 3), (7, 4)])
def test_stopping_early_loses_nothing(toy, model, formula, alpha, beam_size, num_results):
    limits = np.arange(29) % 5
    options = {"length_penalty": alpha, "length_formula": formula, "num_results": num_results}
    result = run(model, toy, range(29), beam_size, limits, **options)
    for sentence, max_length in enumerate(limits):
        finished, cut = toy.textbook_beam(model, sentence, beam_size, max_length, alpha, formula)
        agree(toy.hypotheses(result, sentence), (finished + cut)[:num_results])
        expected = min(len(finished), num_results)
        assert result.finished[sentence].numpy().sum() == expected


def test_a_beam_of_one_is_greedy(toy, model):
    limits = np.arange(29) % 5
    beam = run(model, toy, range(29), 1, limits)
    greedy = greedy_search(
        model.step, model.cache(range(29), 1), batch_size=29, max_lengths=limits, **toy.ids
    )
    for ours, theirs in zip(beam, greedy, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_alone_and_in_any_batch_the_same(toy, model):
    together = run(model, toy, range(7), 3, [4, 1, 3, 0, 2, 4, 1])
    swapped = run(model, toy, range(6, -1, -1), 3, [1, 4, 2, 0, 3, 1, 4])
    for sentence, max_length in enumerate([4, 1, 3, 0, 2, 4, 1]):
        alone = toy.hypotheses(run(model, toy, [sentence], 3, max_length), 0)
        agree(toy.hypotheses(together, sentence), alone)
        agree(toy.hypotheses(swapped, 6 - sentence), alone)


def test_hypotheses_are_distinct_and_sorted(toy, model):
    result = run(model, toy, range(29), 7, 4)
    assert (np.diff(np.where(result.finished, result.scores, -99.0), axis=1) <= 0.0).all()
    for sentence in range(29):
        found = [tuple(pieces) for pieces, _, _ in toy.hypotheses(result, sentence)]
        assert len(set(found)) == len(found) == 7


# From the start: 3 with 0.6, the end with 0.4. After 3: 4 with 0.9, the end with 0.1. After 4: the end.
# "" has 0.4, "3" 0.06, "3 4" 0.54.
CHAIN = np.zeros((6, 6))
CHAIN[1, [2, 3]] = 0.4, 0.6
CHAIN[3, [2, 4]] = 0.1, 0.9
CHAIN[4, 2] = 1.0


def test_the_first_to_finish_is_not_the_best(toy):
    chain = toy.Model.chain(CHAIN)
    result = run(chain, toy, [0], 2, 5, length_penalty=0.0)
    assert [pieces for pieces, _, _ in toy.hypotheses(result, 0)] == [[3, 4], []]
    np.testing.assert_allclose(result.log_probabilities[0], np.log([0.54, 0.4]), rtol=1e-5)
    np.testing.assert_array_equal(result.scores, result.log_probabilities)
    np.testing.assert_array_equal(result.lengths, [[3, 1]])


@pytest.mark.parametrize(
    ("formula", "alpha", "best"),
    # 0.4 after 1 token against 0.3 after 3: log 0.4 = -0.916; log 0.3 = -1.204, in the mean -0.401, and by
    # gnmt with exponent 1: -0.916 / (6 / 6), -1.204 / (8 / 6) = -0.903; with 0.6: -1.204 / 1.188 = -1.013.
    [("mean", 0.0, []), ("mean", 1.0, [3, 4]), ("gnmt", 0.6, []), ("gnmt", 1.0, [3, 4])],
)
def test_the_length_penalty_decides_the_order(toy, formula, alpha, best):
    chain = np.zeros((6, 6))
    chain[1, [2, 3, 5]] = 0.4, 0.3, 0.3
    chain[3, 4] = chain[4, 2] = chain[5, 5] = 1.0
    result = run(toy.Model.chain(chain), toy, [0], 3, 2, length_penalty=alpha, length_formula=formula)
    found = toy.hypotheses(result, 0)
    assert found[0][0] == best and {tuple(row[0]) for row in found[:2]} == {(), (3, 4)}
    for pieces, total, value in found:
        assert value == pytest.approx(
            toy.score(total, max(len(pieces) + (pieces != [5, 5]), 1), alpha, formula), rel=1e-5
        )


@pytest.mark.parametrize(
    ("formula", "alpha", "steps"),
    # The end has log 0.5 = -0.693 at once. What lives has log 0.3 = -1.204 and loses log 3 = 1.099 a step, so
    # that n steps later it can reach -(1.204 + 1.099 n) divided by the penalty of 20 pieces and the end: by 1
    # (no better even for n = 0), by 21 (no better from n = 13 on), by 26 / 6 (from n = 2 on).
    [("mean", 0.0, 1), ("mean", 1.0, 14), ("gnmt", 1.0, 3)],
)
def test_stops_as_soon_as_the_bound_allows(toy, formula, alpha, steps):
    table = np.full((6, 6), 1.0 / 3.0)
    table[:, :3] = 0.0
    table[1] = [0.0, 0.0, 0.5, 0.3, 0.2, 0.0]
    chain, calls = toy.Model.chain(table), []

    def counting(ids, cache):
        calls.append(1)
        return chain.step(ids, cache)

    options = {"length_penalty": alpha, "length_formula": formula, "num_results": 1}
    result = beam_search(
        counting, chain.cache([0], 2), batch_size=1, beam_size=2, max_lengths=20, **toy.ids, **options
    )
    assert len(calls) == steps
    assert toy.hypotheses(result, 0)[0][0] == []


def test_what_reaches_its_limit_is_cut_and_flagged(toy):
    chain = np.zeros((6, 6))
    chain[:, 3], chain[:, 4] = 0.7, 0.3  # nothing ever ends
    result = run(toy.Model.chain(chain), toy, [0, 0], 2, [3, 1], num_results=2)
    np.testing.assert_array_equal(result.ids, [[[3, 3, 3], [3, 3, 4]], [[3, 0, 0], [4, 0, 0]]])
    np.testing.assert_array_equal(result.lengths, [[3, 3], [1, 1]])
    assert not result.finished.numpy().any()
    expected = np.log([[0.7**3, 0.7**2 * 0.3], [0.7, 0.3]])
    np.testing.assert_allclose(result.log_probabilities, expected, rtol=1e-5)
    np.testing.assert_allclose(result.scores, expected / [[3], [1]], rtol=1e-5)


def test_ties_go_to_the_lower_id(toy):
    chain = np.zeros((6, 6))
    chain[:, 2:] = 0.25
    result = run(toy.Model.chain(chain), toy, [0], 4, 1, length_penalty=0.0)
    assert [pieces for pieces, _, _ in toy.hypotheses(result, 0)] == [[], [3], [4], [5]]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_broken_logits_end_a_sentence_and_no_other(toy, bad):
    model = toy.Model.random(num_sentences=2, max_length=3)
    sound = toy.hypotheses(run(model, toy, [1], 3, 3), 0)
    model.logits[0, 4:] = bad  # every prefix of sentence 0 but none and "3"
    result = run(model, toy, [0, 1], 3, 3)
    assert toy.hypotheses(result, 1) == sound
    assert not np.isnan(result.scores).any()
    # "4" and "5" die out; the end is not among the three likeliest tokens after "3", nor does anything
    # follow these: what was alive before the last step is all there is.
    assert [pieces for pieces, _, _ in toy.hypotheses(result, 0)] == [[3, 3], [3, 4], [3, 5]]
    assert not result.finished[0].numpy().any()

    model.logits[0, :] = bad
    result = run(model, toy, [0, 1], 3, 3)
    assert toy.hypotheses(result, 1) == sound and toy.hypotheses(result, 0) == [([], 0.0, 0.0)]
    assert not result.finished[0].numpy().any()


def test_one_impossible_token_does_not_matter(toy):
    model = toy.Model.random(num_sentences=1, max_length=3)
    model.logits[0, :, 4] = -math.inf
    found = toy.hypotheses(run(model, toy, [0], 27, 2), 0)
    expected = [row for row in toy.brute_force(model, 0, 2, 1.0, "mean") if 4 not in row[0]]
    agree(found[: len(expected)], expected)


def test_forbidden_tokens_keep_their_probability(toy):
    chain = np.zeros((6, 6))
    chain[:, :] = [0.3, 0.3, 0.1, 0.2, 0.05, 0.05]  # padding and start would be the likeliest
    result = run(toy.Model.chain(chain), toy, [0], 2, 0, length_penalty=0.0)
    np.testing.assert_allclose(result.log_probabilities[0], [np.log(0.1), -math.inf], rtol=1e-5)


def test_in_a_graph_with_dynamic_shapes_and_saved(toy, model, tmp_path):
    class Searcher(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32)])
        def search(self, sentences, max_lengths):
            result = beam_search(
                model.step,
                model.cache(sentences, 3),
                batch_size=tf.shape(sentences)[0],
                beam_size=3,
                max_lengths=max_lengths,
                num_results=2,
                **toy.ids,
            )
            return result._asdict()

    tf.saved_model.save(searcher := Searcher(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    direct = run(model, toy, range(5), 3, LENGTHS, num_results=2)._asdict()
    for search in (searcher.search, loaded.search):
        result = search(tf.range(5), tf.constant(LENGTHS))
        for name, values in direct.items():
            np.testing.assert_array_equal(result[name], values)
        nothing = search(tf.zeros([0], tf.int32), tf.zeros([0], tf.int32))
        assert nothing["ids"].shape == (0, 2, 0) and nothing["scores"].shape == (0, 2)


def test_wrong_arguments(toy, model):
    for options, message in [
        ({"beam_size": 0}, r"`beam_size` must be from 1 to 1000\. Received: 0"),
        ({"beam_size": 1001}, r"`beam_size` must be from 1 to 1000\. Received: 1001"),
        ({"beam_size": 2.5}, r"`beam_size` must be a whole number, from 1 to 1000\. Received: 2\.5"),
        ({"beam_size": True}, r"`beam_size` must be a whole number, .*Received: True"),
        ({"num_results": 4}, r"`num_results` must be from 1 to 3\. Received: 4"),
        ({"num_results": 0}, r"`num_results` must be from 1 to 3\. Received: 0"),
        ({"num_results": "2"}, r"`num_results` must be a whole number, from 1 to 3\. Received: '2'"),
        ({"start_id": -1}, r"`start_id` must be at least 0\. Received: -1"),
        (
            {"forbidden_ids": (0, 2)},
            r"`forbidden_ids` must not contain `end_id`.*Received: .*\(0, 2\), end_id=2",
        ),
        ({"length_formula": "wu"}, r"`length_formula` must be one of mean, gnmt\. Received: 'wu'"),
        ({"length_penalty": -0.5}, r"`length_penalty` must be a finite number, at least 0\. Received: -0\.5"),
        ({"length_penalty": math.nan}, r"`length_penalty` must be a finite number, .*Received: nan"),
        ({"length_penalty": None}, r"`length_penalty` must be a finite number, .*Received: None"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            beam_search(
                model.step,
                model.cache([0], 3),
                **{"batch_size": 1, "beam_size": 3, "max_lengths": 2, **toy.ids, **options},
            )
