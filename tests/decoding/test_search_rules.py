"""What hypotheses must keep to: each rule on chains by hand, and all against brute force in any batch."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.beam import beam_search
from tf_transformer.decoding.continuations import best_continuations
from tf_transformer.decoding.greedy import greedy_search
from tf_transformer.decoding.search_rules import SearchRules

# From the start: 3 with 0.6, 5 with 0.1, the end with 0.3. After 3: 3 with 0.5, 4 with 0.3, the end with 0.2.
# After 4: the end with 0.9, 5 with 0.1. After 5: 4 with 0.8, the end with 0.2.
CHAIN = np.zeros((6, 6))
CHAIN[1, [2, 3, 5]] = 0.3, 0.6, 0.1
CHAIN[3, [2, 3, 4]] = 0.2, 0.5, 0.3
CHAIN[4, [2, 5]] = 0.9, 0.1
CHAIN[5, [2, 4]] = 0.2, 0.8


def search(toy: Any, model: Any, sentences: Any, beam_size: int, limits: Any, **rules: Any) -> Any:
    keywords = {"batch_size": len(sentences), "max_lengths": limits, "rules": SearchRules(**rules), **toy.ids}
    cache = model.cache(sentences, beam_size)
    if beam_size == 1:
        return greedy_search(model.step, cache, **keywords, length_penalty=0.0)
    return beam_search(model.step, cache, beam_size=beam_size, **keywords, length_penalty=0.0)


def prefixes(*rows: list[int]) -> dict[str, tf.Tensor]:
    longest = max(map(len, rows))
    padded = [row + [0] * (longest - len(row)) for row in rows]
    lengths = tf.constant([len(row) for row in rows])
    return {"prefixes": tf.constant(padded, tf.int32, [len(rows), longest]), "prefix_lengths": lengths}


@pytest.mark.parametrize(
    ("rules", "best", "probability"),
    [
        ({}, [], 0.3),  # the end at once: 0.3 against 0.6 * 0.3 * 0.9 = 0.162 of 3 4
        (prefixes([5]), [5, 4], 0.1 * 0.8 * 0.9),
        (prefixes([3, 4]), [3, 4], 0.6 * 0.3 * 0.9),
        (prefixes([]), [], 0.3),
        ({"min_lengths": tf.constant([1])}, [3, 4], 0.6 * 0.3 * 0.9),
        ({"min_lengths": tf.constant([3])}, [3, 3, 4], 0.6 * 0.5 * 0.3 * 0.9),
        ({"banned_ids": (4,), "min_lengths": tf.constant([1])}, [3], 0.6 * 0.2),
        ({"no_repeat": 1, "min_lengths": tf.constant([3])}, [3, 4, 5], 0.6 * 0.3 * 0.1 * 0.2),
        # The row 3 3 may come once: 3 3 3 would have it twice.
        ({"no_repeat": 2, "banned_ids": (4,), "min_lengths": tf.constant([2])}, [3, 3], 0.6 * 0.5 * 0.2),
        # A prefix goes before bans, a minimum begins with it, and its pieces are there before.
        ({**prefixes([4]), "banned_ids": (4,), "min_lengths": tf.constant([1])}, [4], 1e-30 * 0.9),
        ({**prefixes([3, 3]), "no_repeat": 1}, [3, 3, 4], 0.6 * 0.5 * 0.3 * 0.9),
    ],
)
def test_by_hand(toy: Any, rules: dict[str, Any], best: list[int], probability: float) -> None:
    found = toy.hypotheses(search(toy, toy.Model.chain(CHAIN), [0], 30, 4, **rules), 0)
    assert found[0][0] == best
    assert found[0][1] == pytest.approx(math.log(probability), rel=1e-4)


def test_greedy_keeps_the_rules_too(toy: Any) -> None:
    chain = toy.Model.chain(CHAIN)
    cases = [
        ({}, [3, 3, 3, 3]),
        ({"no_repeat": 1}, [3, 4]),
        ({"banned_ids": (3,)}, []),
        (prefixes([5]), [5, 4]),
    ]
    for rules, best in cases:
        assert toy.hypotheses(search(toy, chain, [0], 1, 4, **rules), 0)[0][0] == best


def test_a_limit_has_room_for_a_prefix_and_goes_before_a_minimum(toy: Any) -> None:
    chain = toy.Model.chain(CHAIN)
    result = search(
        toy, chain, [0, 0], 9, [1, 2], **prefixes([3, 3, 4], [3]), min_lengths=tf.constant([9, 9])
    )
    assert toy.hypotheses(result, 0)[0][0] == [3, 3, 4] and result.finished[0, 0]
    assert toy.hypotheses(result, 1)[0][0] == [3, 4] and result.finished[1, 0]


def test_a_repetition_penalty_is_the_formula_s_distribution(toy: Any) -> None:
    # After 3 the logits are log 0.2, 0.5 and 0.3, and below 0, so multiplied: 3 has 0.25 in place of 0.5.
    model = toy.Model.chain(CHAIN)
    result = search(toy, model, [0], 30, 2, **prefixes([3, 3]), repetition_penalty=tf.constant([2.0]))
    # Tokens that are not in the chain have 1e-30; the second 3 now has a share of 0.25 / (0.2 + 0.25 + 0.3).
    first = math.log(0.6) + math.log(0.25 / 0.75)
    assert toy.hypotheses(result, 0)[0][1] == pytest.approx(first + math.log(0.2 / 0.75), rel=1e-4)
    plain = search(toy, model, [0], 30, 2, **prefixes([3, 3]), repetition_penalty=tf.constant([1.0]))
    assert toy.hypotheses(plain, 0)[0][1] == pytest.approx(math.log(0.6 * 0.5 * 0.2), rel=1e-4)


def allowed(pieces: tuple[int, ...], least: int, banned: set[int], prefix: list[int], no_repeat: int) -> bool:
    rows = [pieces[at : at + no_repeat] for at in range(len(prefix), len(pieces) - no_repeat + 1)]
    every = [pieces[at : at + no_repeat] for at in range(len(pieces) - no_repeat + 1)]
    return (
        len(pieces) >= max(least, len(prefix))
        and list(pieces[: len(prefix)]) == prefix
        and not banned & set(pieces[len(prefix) :])
        and (not no_repeat or all(every.count(row) == 1 for row in rows))
    )


def test_all_rules_against_brute_force_alone_and_in_any_batch(toy: Any) -> None:
    model = toy.Model.random(num_sentences=5, max_length=4)
    starts, least, limits = [[], [3], [5, 5], [4], []], [0, 2, 1, 3, 2], [3, 3, 2, 3, 1]
    options = {"banned_ids": (5,), "no_repeat": 2}

    def run(order: list[int]) -> Any:
        own = prefixes(*(starts[row] for row in order))
        minima = tf.constant([least[row] for row in order])
        return search(
            toy, model, order, 108, [limits[row] for row in order], **own, min_lengths=minima, **options
        )

    together, swapped = run([0, 1, 2, 3, 4]), run([4, 3, 2, 1, 0])
    for row in range(5):
        minimum = min(least[row], limits[row])
        expected = [
            (list(pieces), total)
            for length in range(limits[row] + 1)
            for pieces in itertools.product(toy.pieces, repeat=length)
            if allowed(pieces, minimum, {5}, starts[row], 2)
            for total in [
                sum(
                    model.log_probabilities(row, pieces[:at])[token]
                    for at, token in enumerate((*pieces, toy.end))
                )
            ]
        ]
        expected.sort(key=lambda one: -one[1])
        for result, place in ((together, row), (swapped, 4 - row), (run([row]), 0)):
            found = toy.hypotheses(result, place)
            finished = int(result.finished[place].numpy().sum())
            assert [pieces for pieces, _, _ in found[:finished]] == [pieces for pieces, _ in expected]
            np.testing.assert_allclose(
                [one[1] for one in found[:finished]], [one[1] for one in expected], rtol=1e-4
            )


def test_rules_that_are_off_add_nothing_to_the_graph(toy: Any) -> None:
    model = toy.Model.chain(CHAIN)

    def operations(**rules: Any) -> list[str]:
        function = tf.function(lambda: search(toy, model, [0], 2, 3, **rules), autograph=False)
        graph = function.get_concrete_function().graph.as_graph_def()
        return sorted(node.op for body in graph.library.function for node in body.node_def)

    plain = operations()
    assert operations(repetition_penalty=1.0, no_repeat=0, diversity=0.0) == plain
    assert len(operations(no_repeat=2)) > len(plain)
    assert "ScatterNd" not in plain and "Cumsum" not in plain


def test_diversity_prefers_a_second_parent_s_first_child(toy: Any) -> None:
    # A beam of 2 has 3 (0.6) and 4 (0.3), then 3 4 (0.3) and 3 5 (0.288); 4 5 has only 0.27, but is its
    # parent's first child. What is cut at the limit comes after what has ended.
    table = np.zeros((6, 6))
    table[1, [3, 4, 2]] = 0.6, 0.3, 0.1
    table[3, [4, 5, 2]] = 0.5, 0.48, 0.02
    table[4, [5, 2]] = 0.9, 0.1
    table[5, 2] = 1.0
    chain = toy.Model.chain(table)
    limits = {"min_lengths": tf.constant([2])}
    plain = toy.hypotheses(search(toy, chain, [0], 2, 2, **limits), 0)
    assert [pieces for pieces, _, _ in plain] == [[3, 5], [3, 4]]
    diverse = search(toy, chain, [0], 2, 2, **limits, diversity=1.0)
    assert [pieces for pieces, _, _ in toy.hypotheses(diverse, 0)] == [[4, 5], [3, 4]]
    np.testing.assert_allclose(diverse.log_probabilities[0], np.log([0.3 * 0.9, 0.6 * 0.5]), rtol=1e-4)


def test_what_is_added_to_the_score_of_an_end_decides(toy: Any) -> None:
    # "" has 0.3 and 3 4 has 0.162; the first has read one token, the second three.
    model = toy.Model.chain(CHAIN)

    def extra(hypotheses: Any) -> tf.Tensor:
        read = tf.shape(hypotheses["layers"][0])[2]
        return tf.where(read < 2, -5.0, 0.0) * tf.ones(tf.shape(hypotheses["code"])[:2])

    result = beam_search(
        model.step,
        model.cache([0], 9),
        batch_size=1,
        beam_size=9,
        max_lengths=2,
        length_penalty=0.0,
        extra=extra,
        **toy.ids,
    )
    found = {tuple(pieces): (total, score) for pieces, total, score in toy.hypotheses(result, 0)}
    assert toy.hypotheses(result, 0)[0][0] == [3, 4]
    assert found[()][1] == pytest.approx(found[()][0] - 5.0)


def test_a_length_penalty_of_each_sentence(toy: Any) -> None:
    model = toy.Model.random(num_sentences=3, max_length=3)
    values = [0.0, 1.0, 2.0]
    keywords = {"beam_size": 5, "max_lengths": 3, **toy.ids}
    together = beam_search(
        model.step,
        model.cache(range(3), 5),
        batch_size=3,
        length_penalty=tf.constant(values)[:, None],
        **keywords,
    )
    greedy = greedy_search(
        model.step,
        model.cache(range(3), 1),
        batch_size=3,
        max_lengths=3,
        length_penalty=tf.constant(values)[:, None],
        **toy.ids,
    )
    for row, value in enumerate(values):
        alone = beam_search(model.step, model.cache([row], 5), batch_size=1, length_penalty=value, **keywords)
        np.testing.assert_allclose(together.scores[row], alone.scores[0], rtol=1e-5)
        lengths = max(int(greedy.lengths[row, 0]), 1)
        expected = float(greedy.log_probabilities[row, 0]) / lengths**value
        assert float(greedy.scores[row, 0]) == pytest.approx(expected)


def test_banned_tokens_stay_in_the_distribution() -> None:
    logits = tf.math.log(tf.constant([[[0.5, 0.2, 0.3, math.nan]], [[0.5, 0.2, 0.3, 0.0]]])[..., :3])
    gains, tokens = best_continuations(logits, 2, (1,), tf.constant([True, False, False]))
    np.testing.assert_allclose(gains[0, 0, :1], [math.log(0.3)], rtol=1e-5)
    assert tokens[0, 0, 0] == 2 and (gains[..., 1:].numpy() == -math.inf).all()
