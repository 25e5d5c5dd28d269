"""Sampling: whole texts against a loop in plain Python, frequencies of a chain, prompts, any batch."""

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.random_numbers import uniform_numbers
from tf_transformer.decoding.sampling import Request, Sampler, sample


def request(
    prompts: list[list[int]],
    limits: Any,
    seeds: Any,
    temperature: Any = 1.0,
    top_k: Any = 0,
    top_p: Any = 1.0,
) -> Request:
    ids = (
        tf.ragged.constant(prompts, tf.int32, ragged_rank=1) if any(prompts) else tf.zeros([len(prompts), 0])
    )
    ids = ids.to_tensor() if any(prompts) else tf.cast(ids, tf.int32)

    def each(value: Any, dtype: tf.DType) -> tf.Tensor:
        return tf.broadcast_to(tf.cast(value, dtype), [len(prompts)])

    return Request(
        ids,
        tf.constant([len(prompt) for prompt in prompts], tf.int32),
        each(limits, tf.int32),
        each(seeds, tf.int64),
        each(temperature, tf.float32),
        each(top_k, tf.int32),
        each(top_p, tf.float32),
    )


def run(model: Any, toy: Any, sentences: Any, asked: Request, num_samples: int = 1, **rules: Any) -> Any:
    cache = model.cache(sentences, num_samples)
    return sample(model.step, cache, asked, num_samples=num_samples, **{**toy.ids, **rules})


def by_hand(
    model: Any,
    toy: Any,
    sentence: int,
    prompt: list[int],
    limit: int,
    seed: int,
    stream: int,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    penalty: float = 1.0,
    no_repeat: int = 0,
) -> tuple[list[int], float, bool]:
    """One continuation, token by token: its pieces, their log-probability, and whether it ended."""
    text, total = list(prompt), 0.0
    while True:
        own = model.log_probabilities(sentence, text)
        logits = model.logits[sentence, code(model, text)].astype("float64")
        for token in set(text):
            logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
        for token in range(toy.vocabulary):
            rows = [tuple(text[at : at + no_repeat]) for at in range(len(text) - no_repeat + 1)]
            if no_repeat and (*text, token)[-no_repeat:] in rows and len(text) >= no_repeat - 1:
                logits[token] = -math.inf
        logits[[toy.ids["forbidden_ids"]]] = -math.inf
        order = sorted(range(toy.vocabulary), key=lambda token: (-logits[token], token))
        order = order[: 1 if temperature == 0 else top_k or None]
        weights = [math.exp((logits[token] - logits[order[0]]) / (temperature or 1.0)) for token in order]
        shares = np.array(weights) / sum(weights)
        shares = shares[: 1 + int(np.sum(np.cumsum(shares) < top_p))] if top_p < 1 else shares
        number = float(uniform_numbers(tf.constant([seed], tf.int64), stream + 1, len(text))[0, stream])
        place = int(np.sum(np.cumsum(shares) <= number * shares.sum()))
        token = order[min(place, len(shares) - 1)]
        if token == toy.end:
            return text[len(prompt) :], total + own[token], True
        if len(text) - len(prompt) == limit:
            return text[len(prompt) :], total, False
        text, total = [*text, token], total + own[token]


def code(model: Any, text: list[int]) -> int:
    number = 0
    for token in text:
        number = number * model.base + token
    return number


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ({}, {}),
        ({"temperature": 0.0}, {}),
        ({"temperature": 0.7, "top_k": 2}, {}),
        ({"top_p": 0.6}, {"penalty": 1.7}),
        ({"temperature": 1.3}, {"no_repeat": 2}),
        ({}, {"no_repeat": 1, "penalty": 0.5}),
    ],
)
def test_against_a_loop_in_python_in_any_batch(
    toy: Any, options: dict[str, Any], rules: dict[str, Any]
) -> None:
    model = toy.Model.random(num_sentences=11, max_length=5)
    rng = np.random.default_rng(3)
    prompts = [rng.choice(toy.pieces, size=size % 3).tolist() for size in range(11)]
    limits, seeds = np.arange(11) % 4, 100 + np.arange(11) % 7
    keywords = {"repetition_penalty": rules.get("penalty", 1.0), "no_repeat": rules.get("no_repeat", 0)}
    result = run(model, toy, range(11), request(prompts, limits, seeds, **options), 2, **keywords)
    for row in range(11):
        for stream in range(2):
            pieces, total, finished = by_hand(
                model, toy, row, prompts[row], limits[row], int(seeds[row]), stream, **options, **rules
            )
            found = result.ids[row, stream].numpy()
            assert found[: len(pieces)].tolist() == pieces and not found[len(pieces) :].any()
            assert result.finished[row, stream] == finished
            assert result.lengths[row, stream] == len(pieces) + finished
            np.testing.assert_allclose(result.log_probabilities[row, stream], total, rtol=1e-4, atol=1e-6)
            mean = total / max(len(pieces) + finished, 1)
            np.testing.assert_allclose(result.scores[row, stream], mean, rtol=1e-4, atol=1e-6)
        asked = request([prompts[row]], limits[row], seeds[row], **options)
        alone = run(model, toy, [row], asked, 1, **keywords)
        size = alone.ids.shape[2]
        np.testing.assert_array_equal(alone.ids[0, 0], result.ids[row, 0, :size])


def test_texts_come_as_often_as_they_are_likely(toy: Any) -> None:
    # After the start 3 or the end; after 3 a 4 with 0.3, a 3 with 0.2, else the end; after 4 the end.
    table = np.zeros((6, 6))
    table[1, [2, 3]], table[3, [2, 3, 4]], table[4, 2] = (0.4, 0.6), (0.5, 0.2, 0.3), 1.0
    model = toy.Model.chain(table)
    result = run(model, toy, [0], request([[]], 2, 11), num_samples=5000)
    texts = ["".join(map(str, filter(None, row))) for row in result.ids[0].numpy().tolist()]
    ends = np.asarray(result.finished[0])
    expected = {
        ("", True): 0.4,
        ("3", True): 0.6 * 0.5,
        ("34", True): 0.6 * 0.3,
        ("33", True): 0.6 * 0.2 * 0.5,
        ("33", False): 0.6 * 0.2 * 0.5,  # a third piece would be one too many
    }
    found = {key: sum(1 for one in zip(texts, ends, strict=True) if one == key) for key in expected}
    assert sum(found.values()) == 5000
    # Four degrees of freedom: 1 in 10^4 is above 23.5.
    assert sum((found[key] - 5000 * p) ** 2 / (5000 * p) for key, p in expected.items()) < 23.5


def test_a_prompt_that_is_longer_by_what_was_drawn_goes_on_the_same_way(toy: Any) -> None:
    model = toy.Model.random(num_sentences=1, max_length=5)
    whole = run(model, toy, [0], request([[4]], 4, 2), end_id=None, forbidden_ids=(0, 1, 2))
    pieces = whole.ids[0, 0].numpy().tolist()
    assert len(pieces) == 4 and not whole.finished[0, 0]
    for cut in range(1, 4):
        rest = run(
            model, toy, [0], request([[4, *pieces[:cut]]], 4 - cut, 2), end_id=None, forbidden_ids=(0, 1, 2)
        )
        assert rest.ids[0, 0].numpy().tolist() == pieces[cut:]


def test_a_cache_that_has_read_the_prompts_beginning(toy: Any) -> None:
    model = toy.Model.random(num_sentences=2, max_length=5)
    asked = request([[4, 3], [5, 3, 4]], 2, [3, 4])
    expected = run(model, toy, [0, 1], asked)
    cache = model.cache([0, 1], 1)
    for tokens in ([[1], [1]], [[4], [5]]):  # the start token, and the first one
        _, cache = model.step(tf.constant(tokens), cache)
    for taken in (2, tf.constant(2)):
        found = sample(model.step, cache, asked, taken=taken, **toy.ids)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_broken_logits_cut_a_text_and_no_other(toy: Any, bad: float) -> None:
    model = toy.Model.random(num_sentences=2, max_length=3)
    sound = toy.hypotheses(run(model, toy, [1], request([[]], 3, 1)), 0)
    model.logits[0] = bad
    result = run(model, toy, [0, 1], request([[], []], 3, 1))
    assert toy.hypotheses(result, 1) == sound
    assert toy.hypotheses(result, 0) == [([], 0.0, 0.0)] and not result.finished[0, 0]


def test_in_a_graph_with_dynamic_shapes(toy: Any) -> None:
    model = toy.Model.random(num_sentences=5, max_length=4)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, None], tf.int32)])
    def search(sentences: tf.Tensor, prompts: tf.Tensor) -> Any:
        like = tf.zeros_like(sentences)
        lengths = like + tf.shape(prompts)[1]
        real = tf.cast(like, tf.float32)
        asked = Request(prompts, lengths, sentences % 3, tf.cast(like, tf.int64), real + 1, like, real + 1)
        return sample(model.step, model.cache(sentences, 2), asked, num_samples=2, **toy.ids)

    found = search(tf.range(5), tf.fill([5, 1], 4))
    expected = run(model, toy, range(5), request([[4]] * 5, np.arange(5) % 3, 0), 2)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5)
    nothing = search(tf.zeros([0], tf.int32), tf.zeros([0, 3], tf.int32))
    assert nothing.ids.shape == (0, 2, 0) and nothing.finished.shape == (0, 2)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"start_id": -1}, r"`start_id` must be at least 0\. Received: -1"),
        ({"start_id": -1, "end_id": None}, r"`start_id` must be at least 0\. Received: -1"),
        ({"forbidden_ids": (2,)}, r"`forbidden_ids` must not contain `end_id`"),
        ({"repetition_penalty": 0.0}, r"`repetition_penalty` must be more than 0\. Received: 0\.0"),
        ({"no_repeat": 1.5}, r"`no_repeat` must be a whole number, at least 0\. Received: 1\.5"),
    ],
)
def test_wrong_arguments(toy: Any, rules: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Sampler(lambda ids, cache: (ids, cache), **{**toy.ids, **rules})
