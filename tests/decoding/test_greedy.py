"""Greedy search on chains by hand, in batches, in a graph."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.greedy import greedy_search


def run(model, toy, sentences, max_lengths, **options):
    return greedy_search(
        model.step,
        model.cache(sentences, 1),
        batch_size=len(sentences),
        max_lengths=max_lengths,
        **{**toy.ids, **options},
    )


def test_follows_the_likeliest_token(toy):
    # 3 with 0.6, then 4 with 0.9, then the end; the whole has 0.54 and 3 tokens with the end.
    table = np.zeros((6, 6))
    table[1, [2, 3]], table[3, [2, 4]], table[4, 2] = (0.4, 0.6), (0.1, 0.9), 1.0
    model = toy.Model.chain(table, num_sentences=2)
    result = run(model, toy, [0, 1], [5, 1], length_penalty=2.0)
    np.testing.assert_array_equal(result.ids, [[[3, 4]], [[3, 0]]])
    np.testing.assert_array_equal(result.lengths, [[3], [1]])
    np.testing.assert_array_equal(result.finished, [[True], [False]])
    np.testing.assert_allclose(result.log_probabilities, [[math.log(0.54)], [math.log(0.6)]], rtol=1e-5)
    np.testing.assert_allclose(result.scores, [[math.log(0.54) / 9.0], [math.log(0.6)]], rtol=1e-5)


def test_against_a_loop_in_python_in_any_batch(toy):
    model = toy.Model.random(num_sentences=23, max_length=4)
    limits = np.arange(23) % 5
    result = run(model, toy, range(23), limits)
    for sentence, limit in enumerate(limits):
        pieces, total, finished = [], 0.0, False
        while not finished:
            gains = model.log_probabilities(sentence, pieces)
            token = max((toy.end, *toy.pieces), key=lambda token, gains=gains: gains[token])
            if token != toy.end and len(pieces) == limit:
                break
            total, finished = total + gains[token], token == toy.end
            pieces += [] if finished else [token]
        assert toy.hypotheses(result, sentence)[0][0] == pieces
        assert result.finished[sentence, 0] == finished
        np.testing.assert_allclose(result.log_probabilities[sentence, 0], total, rtol=1e-4, atol=1e-6)
        alone = run(model, toy, [sentence], limit)
        assert toy.hypotheses(alone, 0)[0][0] == pieces


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_broken_logits_cut_a_sentence_and_no_other(toy, bad):
    model = toy.Model.random(num_sentences=2, max_length=3)
    sound = toy.hypotheses(run(model, toy, [1], 3), 0)
    model.logits[0] = bad
    result = run(model, toy, [0, 1], 3)
    assert toy.hypotheses(result, 1) == sound
    assert toy.hypotheses(result, 0) == [([], 0.0, 0.0)] and not result.finished[0, 0]


def test_in_a_graph_with_dynamic_shapes(toy):
    model = toy.Model.random(num_sentences=5, max_length=3)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32)])
    def search(sentences, limits):
        cache = model.cache(sentences, 1)
        size = tf.shape(sentences)[0]
        return greedy_search(model.step, cache, batch_size=size, max_lengths=limits, **toy.ids)

    for found, expected in zip(
        search(tf.range(5), tf.range(5) % 4), run(model, toy, range(5), np.arange(5) % 4), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    nothing = search(tf.zeros([0], tf.int32), tf.zeros([0], tf.int32))
    assert nothing.ids.shape == (0, 1, 0) and nothing.finished.shape == (0, 1)


def test_wrong_arguments(toy):
    model = toy.Model.random(num_sentences=1, max_length=1)
    with pytest.raises(ValueError, match=r"`end_id` must be at least 0\. Received: -2"):
        run(model, toy, [0], 1, end_id=-2)
    with pytest.raises(ValueError, match=r"`length_formula` must be one of mean, gnmt\. Received: 'none'"):
        run(model, toy, [0], 1, length_formula="none")
