"""Texts longer than the window: as if each window were read anew, in sampling and in a search."""

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.beam import beam_search
from tf_transformer.decoding.window import Windowed
from tf_transformer.models import LanguageModel

WINDOW, STRIDE, START, VOCABULARY = 5, 2, 2, 11
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    sizes = {"num_layers": 2, "hidden_dim": 6, "intermediate_dim": 13, "num_heads": 3}
    # There are no positions beyond the window at all.
    return LanguageModel(VOCABULARY, **sizes, positions="learned", max_length=WINDOW, seed=7)


def expected(model: LanguageModel, text: list[int]) -> np.ndarray:
    """The logits [V] of the token after `text`, from the window that the rule says, read as a whole."""
    begin = 0
    while len(text) - begin >= WINDOW:  # the start token and all but the last would not fit with it
        begin += STRIDE
    return np.asarray(model({"target_ids": np.array([[START, *text[begin:]]])})[0, -1])


def test_the_rule_by_hand() -> None:
    # With 5 positions: the start and 4 tokens. The fifth token begins a window of the last 5 - 2 = 3.
    seen = []

    class Spy:
        def start_cache(self, batch_size: int, num_hypotheses: int) -> dict:
            return {"hypotheses": tf.zeros([batch_size, num_hypotheses, 1, 0, 1]), "shared": {}}

        def read(self, ids: tf.Tensor, cache: dict) -> tuple[tf.Tensor, dict]:
            seen.append(np.ravel(ids).tolist())
            new = tf.cast(ids, tf.float32)[:, :, None, :, None]
            return tf.zeros([1, 1, 3]), {
                **cache,
                "hypotheses": tf.concat([cache["hypotheses"], new], axis=-2),
            }

    windowed = Windowed(Spy(), WINDOW, STRIDE, START)
    cache = windowed.begin(tf.zeros([1, 0], tf.int32), 0, 1)
    for token in [START, 3, 4, 5, 6, 7, 8, 9]:
        _, cache = windowed.step(tf.constant([[token]]), cache)
    assert seen == [[START], [3], [4], [5], [6], [START, 5, 6, 7], [8], [START, 7, 8, 9]]


@pytest.mark.parametrize("taken", range(12))
def test_prompts_are_read_at_once_as_step_by_step(model: LanguageModel, taken: int) -> None:
    windowed = Windowed(model, WINDOW, STRIDE, START)
    prompts = RNG.integers(4, VOCABULARY, (3, 13)).astype("int32")
    cache = windowed.begin(tf.constant(prompts), tf.constant(taken), 2)
    texts = np.concatenate([np.full((3, 1), START), prompts], axis=1)
    for place in range(taken, 13):
        token = np.broadcast_to(texts[:, place, None], (3, 2)).astype("int32")
        logits, cache = windowed.step(tf.constant(token), cache)
        if place in (taken, 12):
            for row in range(3):
                wanted = expected(model, prompts[row, :place].tolist())
                np.testing.assert_allclose(logits[row], [wanted] * 2, atol=1e-5)


def test_a_search_may_reorder_what_was_read(model: LanguageModel) -> None:
    windowed = Windowed(model, WINDOW, STRIDE, START)

    @tf.function
    def search() -> tf.Tensor:
        cache = windowed.begin(tf.zeros([1, 0], tf.int32), 0, 3)
        return beam_search(
            windowed.step, cache, batch_size=1, beam_size=3, max_lengths=9, start_id=START, end_id=3,
            forbidden_ids=(0, 1, 2), length_penalty=0.0,
        )  # fmt: skip

    found = search()
    for ids, length, finished, total in zip(
        found.ids[0].numpy(), found.lengths[0].numpy(), found.finished[0].numpy(),
        found.log_probabilities[0].numpy(), strict=True,
    ):  # fmt: skip
        pieces = ids[: length - int(finished)].tolist()
        tokens = [*pieces, 3] if finished else pieces
        logits = np.stack([expected(model, pieces[:place]) for place in range(len(tokens))])
        log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        np.testing.assert_allclose(total, log_probabilities[range(len(tokens)), tokens].sum(), atol=1e-4)


@pytest.mark.parametrize(
    ("window", "stride", "message"),
    [
        (1, 1, r"`window` must be at least 2\. Received: 1"),
        (5, 5, r"`stride` must be from 1 to 4\. Received: 5"),
        (5, 0, r"`stride` must be from 1 to 4\. Received: 0"),
    ],
)
def test_wrong_sizes(model: LanguageModel, window: int, stride: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Windowed(model, window, stride, START)
