"""Ids of a text to vectors: distances to marks, dropped tokens, padding that has no part in a stem."""

import numpy as np
import pytest

from tf_transformer.layers import ConvolutionalStem, TextEmbedding

MARK, OTHER = 9, 10


def embedding(**options: object) -> TextEmbedding:
    settings = {"vocabulary_size": 11, "hidden_dim": 4, "positions": "none", "seed": 3, **options}
    return TextEmbedding(**settings)


def test_marks_and_counts() -> None:
    layer = embedding(marked_ids=[MARK, OTHER])
    ids = np.array([[2, MARK, 5, OTHER, 0]])
    assert np.asarray(layer.marks(ids)).tolist() == [[0, 1, 0, 2, 0]]
    assert np.asarray(layer.padding_mask(ids)).tolist() == [[True, True, True, True, False]]
    assert {name: int(count) for name, count in layer.counts(ids).items()} == {
        "source_tokens": 4,
        "source_positions": 5,
    }


def test_a_vector_tells_its_distance_from_the_mark() -> None:
    far, near = embedding(marked_ids=[MARK], mark_distance=2), embedding(marked_ids=[MARK])
    ids = np.array([[5, 5, MARK, 5, 5, 5, 5]])
    near(ids), far(ids)
    told = np.asarray(far(ids)) - np.asarray(near(ids))
    table = np.asarray(far.weights[1])
    assert table.shape == (5, 4)
    # -2 -1 0 1 2, and 2 again for 3 and 4
    np.testing.assert_allclose(told[0], 2.0 * table[[0, 1, 2, 3, 4, 4, 4]], atol=1e-6)


def test_training_drops_ordinary_tokens_alone() -> None:
    layer = embedding(marked_ids=[MARK], token_dropout=0.5)
    ids = np.tile(np.array([[2, 5, MARK, 7, 3, 0]]), (200, 1))
    vectors = np.asarray(layer(ids, training=True))
    unknown = np.asarray(layer(np.array([[1]])))[0, 0]
    dropped = np.isclose(vectors, unknown).all(axis=-1)
    assert not dropped[:, [0, 2, 4, 5]].any()
    assert 0.35 < dropped[:, [1, 3]].mean() < 0.65
    assert not np.isclose(np.asarray(layer(ids)), unknown).all(axis=-1).any()


def test_padding_has_no_part_in_a_stem() -> None:
    stem = ConvolutionalStem([3], seed=3)
    states = np.random.default_rng(5).normal(size=(1, 5, 4)).astype("float32")
    mask = np.array([[True, True, True, False, False]])
    alone = np.asarray(stem(states[:, :3]))
    np.testing.assert_allclose(np.asarray(stem(states, padding_mask=mask))[:, :3], alone, rtol=1e-5)


def test_a_stem_by_hand() -> None:
    stem = ConvolutionalStem([2], filters=1)
    stem.build((None, None, 1))
    # relu(x_t - x_{t+1}), then times 10
    stem.set_weights([np.array([[[1.0]], [[-1.0]]]), np.zeros(1), np.array([[10.0]]), np.zeros(1)])
    outputs, features = stem(np.array([[[1.0], [4.0], [2.0]]], "float32"), return_features=True)
    assert np.asarray(outputs).tolist() == [[[1.0], [24.0], [22.0]]]
    assert np.asarray(features).tolist() == [[[0.0], [2.0], [2.0]]]


def test_features_of_a_stem_beside_the_vectors() -> None:
    layer, ids = embedding(convolutions=[2, 3], filters=5), np.array([[5, 7, 9, 0, 0]])
    vectors, features = layer(ids, return_features=True)
    assert layer.num_features == 10 and tuple(features.shape) == (1, 5, 10)
    np.testing.assert_allclose(vectors, layer(ids))
    np.testing.assert_allclose(features[:, :3], layer(ids[:, :3], return_features=True)[1], rtol=1e-5)
    assert embedding().num_features == 0


def test_ids_outside_the_vocabulary_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`source_ids` must be whole numbers, .* 11. Received: 11"):
        embedding()(np.array([[11]]))


def test_widths() -> None:
    with pytest.raises(ValueError, match="`widths` must name at least one width"):
        ConvolutionalStem([])
    with pytest.raises(ValueError, match=r"`widths` must be a positive integer. Received: widths=0"):
        ConvolutionalStem([3, 0])
    narrow = embedding(embedding_dim=3)
    assert tuple(narrow(np.array([[5, 0]])).shape) == (1, 2, 4)
    assert tuple(narrow.kernel.shape) == (3, 4)
