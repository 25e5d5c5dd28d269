"""Slips that tutorials repeat: each wrong form beside ours, with figures that one can work out by hand.

training/lessons/README.md says of each what is right and why.
"""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import Residual, TokenEmbedding
from tf_transformer.losses import MaskedCrossEntropy, smoothed_cross_entropy
from tf_transformer.ops.attention import dot_product_attention, merge_heads, split_heads
from tf_transformer.ops.masks import causal_mask, padding_mask
from tf_transformer.ops.normalization import layer_norm
from tf_transformer.ops.positions import sinusoidal_positions
from tf_transformer.schedules import WarmupInverseSqrt
from tf_transformer.text import Preprocessor


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.exp(scores) / np.exp(scores).sum(axis, keepdims=True)


def attend(query: list, keys: list, values: list, mask: object = None) -> tuple[np.ndarray, np.ndarray]:
    """Attention of one sentence and one head: rows of queries, keys and values; answers and weights."""
    parts = (np.array([[rows]], "float32") for rows in (query, keys, values))
    answers, weights = dot_product_attention(*parts, mask)
    return ops.convert_to_numpy(answers)[0, 0], ops.convert_to_numpy(weights)[0, 0]


# Positions and embeddings


def test_the_exponent_is_that_of_the_pair_of_columns() -> None:
    # D = 4: columns 2 and 3 are the pair i = 1 and turn by p / 10000^(2/4), which is p / 100.
    columns = np.arange(4)
    doubled = np.sin(100 / 10_000 ** (2 * columns / 4))  # the number of the column taken for that of the pair
    ours = ops.convert_to_numpy(sinusoidal_positions(np.array([100]), 4))[0]
    assert ours[2:] == pytest.approx([np.sin(1.0), np.cos(1.0)], abs=1e-6)
    assert doubled[2] == pytest.approx(np.sin(0.01))


def test_row_0_is_a_position_like_any_other() -> None:
    # The product of two rows depends on their distance alone: D = 4, distance 3, from 0 and from 5.
    zeroed = ops.convert_to_numpy(sinusoidal_positions(np.arange(9), 4)).copy()
    ours = zeroed.copy()
    zeroed[0] = 0.0
    assert ours[0].tolist() == [0.0, 1.0, 0.0, 1.0]
    by_hand = np.cos(3.0) + np.cos(0.03)
    assert [ours[0] @ ours[3], ours[5] @ ours[8]] == pytest.approx([by_hand] * 2, abs=1e-5)
    assert [zeroed[0] @ zeroed[3], zeroed[5] @ zeroed[8]] == pytest.approx([0.0, by_hand], abs=1e-5)


def test_embeddings_are_as_large_as_positions() -> None:
    # D = 16: positions have the length sqrt(D / 2); a row of entries +-1/4 has 1, and times sqrt(D) it has 4.
    embedding = TokenEmbedding(vocabulary_size=3, hidden_dim=16)
    embedding.build()
    rows = np.where(np.arange(48).reshape(3, 16) % 3, 0.25, -0.25)
    embedding.set_weights([rows])
    ours = ops.convert_to_numpy(embedding(np.array([[1]])))[0, 0]
    place = ops.convert_to_numpy(sinusoidal_positions(np.array([7]), 16))[0]
    lengths = [np.linalg.norm(vector) for vector in (place, ours, rows[1])]
    assert lengths == pytest.approx([8**0.5, 4.0, 1.0], abs=1e-5)


# Attention


def test_heads_are_columns_at_all_positions() -> None:
    # Two positions of width 4: the first head must have columns 0 and 1 of both.
    states = np.array([[[10, 11, 12, 13], [20, 21, 22, 23]]])
    reshaped = states.reshape(1, 2, 2, 2)
    ours = ops.convert_to_numpy(split_heads(states, num_heads=2))
    assert ours[0, 0].tolist() == [[10, 11], [20, 21]]
    assert reshaped[0, 0].tolist() == [[10, 11], [12, 13]]  # position 0 alone
    assert ops.convert_to_numpy(merge_heads(ours)).tolist() == states.tolist()
    merged = ours.reshape(1, 2, 4)  # without a transpose
    assert merged.tolist() == [[[10, 11, 20, 21], [12, 13, 22, 23]]]


def test_scores_are_divided_by_the_root_of_the_width_of_a_head() -> None:
    # A head of width 4 in a model of width 16; the products are 2 ln 3 and 0.
    query, keys = [[2 * np.log(3), 0, 0, 0]], [[1, 0, 0, 0], [0, 1, 0, 0]]
    products = np.array(query) @ np.array(keys).T
    _, ours = attend(query, keys, [[0.0], [0.0]])
    assert ours[0] == pytest.approx([3 / 4, 1 / 4])
    assert softmax(products)[0] == pytest.approx([9 / 10, 1 / 10])  # not divided
    of_the_model = softmax(products / 16**0.5)[0]
    assert of_the_model == pytest.approx([3**0.5 / (3**0.5 + 1), 1 / (3**0.5 + 1)])


def test_the_softmax_goes_over_keys() -> None:
    # Queries 1 and 0, keys 0 and ln 3: the scores are [[0, ln 3], [0, 0]].
    query, keys = [[1.0], [0.0]], [[0.0], [np.log(3)]]
    _, ours = attend(query, keys, [[0.0], [0.0]])
    assert ours == pytest.approx(np.array([[1 / 4, 3 / 4], [1 / 2, 1 / 2]]))
    over_queries = softmax(np.array(query) @ np.array(keys).T, axis=0)
    assert over_queries == pytest.approx(np.array([[1 / 2, 3 / 4], [1 / 2, 1 / 4]]))  # rows of 5/4 and 3/4


# Masks


def test_a_mask_comes_before_the_softmax() -> None:
    # Equal scores, the last of three keys masked: (3 + 6) / 2.
    mask = np.array([True, True, False])
    ours, weights = attend([[0.0]], [[0.0]] * 3, [[3.0], [6.0], [9.0]], mask)
    assert weights[0] == pytest.approx([1 / 2, 1 / 2, 0]) and ours[0, 0] == pytest.approx(4.5)
    after = softmax(np.zeros(3)) * mask
    assert after.sum() == pytest.approx(2 / 3) and after @ [3, 6, 9] == pytest.approx(3.0)


def test_a_row_without_a_key_is_finite() -> None:
    # A source of nothing but padding: the mean of the values, which nobody uses, and not NaN, which spreads.
    ours, _ = attend([[1.0]], [[1.0], [2.0]], [[3.0], [6.0]], np.array([False, False]))
    assert ours[0, 0] == pytest.approx(4.5)
    with np.errstate(invalid="ignore", over="ignore"):
        row = np.array([-np.inf, -np.inf])
        assert np.isnan(np.exp(row - row.max())).all()
        assert np.isinf(np.float16(-1e9))  # a number that was meant to be finite


def test_padding_needs_a_mask_though_its_vectors_are_zeros() -> None:
    # A key of zeros has the score 0, which is a weight: ln 3 and 0 give 3/4 and 1/4.
    query, keys, values = [[1.0]], [[np.log(3)], [0.0]], [[4.0], [0.0]]
    ours, _ = attend(query, keys, values, padding_mask(np.array([[5, 0]])))
    without, _ = attend(query, keys, values)
    assert ours[0, 0] == pytest.approx(4.0)
    assert without[0, 0] == pytest.approx(3.0)


def test_a_target_sees_itself_and_what_came_before() -> None:
    # Equal scores: means of 3; of 3 and 6; of 3, 6 and 9.
    scores, values = [[0.0]] * 3, [[3.0], [6.0], [9.0]]
    ours, _ = attend(scores, scores, values, causal_mask(3))
    assert ours[:, 0] == pytest.approx([3.0, 4.5, 6.0])
    unmasked, _ = attend(scores, scores, values)
    assert unmasked[:, 0] == pytest.approx([6.0] * 3)  # position 0 knows the words that it is to predict
    strict = np.tril(np.ones((3, 3), bool), k=-1)
    without_itself, _ = attend(scores, scores, values, strict)
    assert without_itself[1:, 0] == pytest.approx(
        [3.0, 4.5]
    )  # the newest word, which counts most, is not seen


# Norm and dropout


def test_the_deviation_is_that_of_the_row_and_not_of_a_sample() -> None:
    # [1, 3]: mean 2, variance (1 + 1) / 2 = 1. A sample's variance divides by 1 and is 2.
    row = np.array([[1.0, 3.0]], "float32")
    ours = layer_norm(row, np.ones(2, "float32"), np.zeros(2, "float32"))
    assert ops.convert_to_numpy(ours)[0] == pytest.approx([-1, 1], abs=1e-4)
    assert ((row - 2) / row.std(axis=-1, ddof=1))[0] == pytest.approx([-(0.5**0.5), 0.5**0.5])


def test_dropout_is_for_training() -> None:
    # 1 + dropout(1) at rate 1/2: 2 when the model answers; 1 or 3 while it learns, 2 in the mean.
    layer = Residual(keras.layers.Rescaling(0.0, offset=1.0), norm="pre", dropout=0.5, seed=3)
    ones = np.ones((20, 50), "float32")
    assert np.unique(layer(ones)).tolist() == [2.0]
    assert np.unique(layer(ones, training=True)).tolist() == [1.0, 3.0]


# Loss and labels


def test_the_cross_entropy_takes_logits_once() -> None:
    # Probabilities 1/10, 2/10, 7/10, label 2; -ln 0.7 whatever all logits have in common.
    probabilities = np.array([0.1, 0.2, 0.7])
    logits = np.log(probabilities) + 5
    ours = float(smoothed_cross_entropy(np.array([2]), logits[None])[0])
    assert ours == pytest.approx(-np.log(0.7), abs=1e-5)
    assert -logits[2] == pytest.approx(-np.log(0.7) - 5)  # no log-softmax: less without end
    twice = -np.log(softmax(softmax(logits))[2])
    assert twice == pytest.approx(np.log(np.exp([0.1, 0.2, 0.7]).sum()) - 0.7)  # 0.768 in place of 0.357


def test_the_loss_is_a_mean_over_real_tokens() -> None:
    # One token of probability 1/2, and four of 1/8; the first sentence is padded to four.
    labels = np.array([[1, 0, 0, 0], [1, 1, 1, 1]])
    shares = np.array([[1 / 16, 1 / 2, 7 / 16], [7 / 16, 1 / 8, 7 / 16]], "float32")
    logits = np.log(shares)[:, None].repeat(4, axis=1)
    assert float(MaskedCrossEntropy()(labels, logits)) == pytest.approx(13 / 5 * np.log(2), abs=1e-5)
    values = ops.convert_to_numpy(smoothed_cross_entropy(labels, logits))
    assert values.mean() == pytest.approx(13 / 8 * np.log(2), abs=1e-5)  # over all positions
    sentences = values.sum(1) / (labels != 0).sum(1)
    assert sentences.mean() == pytest.approx(2 * np.log(2), abs=1e-5)  # of sentences, short ones too heavy


def test_smoothing_gives_padding_nothing() -> None:
    # Padding has the probability e^-100, as trained models have it, and two classes 1/2 each: ln 2 by any q.
    logits = np.array([[-100.0, 0.0, 0.0]])
    ours = float(smoothed_cross_entropy(np.array([1]), logits, label_smoothing=0.3)[0])
    assert ours == pytest.approx(np.log(2), abs=1e-5)
    over_all = np.array([0.1, 0.8, 0.1])  # 0.3 / 3 for padding too
    assert -over_all @ (logits[0] - np.log(2)) == pytest.approx(np.log(2) + 0.1 * 100)


def test_targets_are_shifted_once() -> None:
    # "ab" is 4, 5: from the start (2) the model is to say a, after a it is to say b, after b the end (3).
    preprocessor = Preprocessor.train(["ab"], ["ab"], "characters", 6)
    inputs, labels = preprocessor(["ab"], ["ab"])
    seen, right = inputs["target_ids"].numpy()[0].tolist(), labels.numpy()[0].tolist()
    assert list(zip(seen, right, strict=True)) == [(2, 4), (4, 5), (5, 3)]
    copies = 50 * np.eye(6)
    assert float(MaskedCrossEntropy()(np.array([4, 5]), copies[[4, 5]])) == pytest.approx(
        0
    )  # not at all: copying wins
    assert float(MaskedCrossEntropy()(np.array(right), copies[seen])) == pytest.approx(50)
    assert list(zip(seen[:-1], right[1:], strict=True)) == [(2, 5), (4, 3)]  # twice: the word after the next


# Schedule


def test_the_first_update_has_a_rate() -> None:
    # D = 4 and a warm-up of 4: 4^-1/2 * n * 4^-3/2 = n / 16. Keras counts the updates that are done.
    schedule = WarmupInverseSqrt(hidden_dim=4, warmup_steps=4)
    assert [float(schedule(done)) for done in range(4)] == pytest.approx([1 / 16, 2 / 16, 3 / 16, 4 / 16])
    with np.errstate(divide="ignore"):
        done = np.arange(4.0)
        late = 4**-0.5 * np.minimum(done**-0.5, done * 4**-1.5)
    assert late == pytest.approx([0, 1 / 16, 2 / 16, 3 / 16])  # the first update changes nothing
