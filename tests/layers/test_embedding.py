"""Token ids to vectors and back to logits."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import TokenEmbedding


def test_vectors_are_rows_times_the_root_of_the_width() -> None:
    embedding = TokenEmbedding(3, hidden_dim=4)
    embedding.build()
    embedding.set_weights([np.arange(12.0).reshape(3, 4)])
    assert ops.convert_to_numpy(embedding(np.array([[2]]))).tolist() == [[[16.0, 18.0, 20.0, 22.0]]]
    # row 0: 1*0 + 1*1 + 1*2 + 1*3 = 6, and 16 more for each row below
    logits = embedding(np.ones((1, 1, 4), "float32"), reverse=True)
    assert ops.convert_to_numpy(logits).tolist() == [[[6.0, 22.0, 38.0]]]


def test_the_initial_table() -> None:
    embedding = TokenEmbedding(3001, hidden_dim=64, seed=3)
    embedding.build()
    table = embedding.get_weights()[0]
    assert np.all(table[0] == 0)
    assert table[1:].std() == pytest.approx(64**-0.5, rel=0.01)


def test_vectors_begin_as_small_as_is_asked_for() -> None:
    embedding = TokenEmbedding(3001, hidden_dim=64, deviation=0.25, seed=3)
    vectors = ops.convert_to_numpy(embedding(np.arange(1, 3001)))
    assert vectors.std() == pytest.approx(0.25, rel=0.01)
    with pytest.raises(ValueError, match=r"`deviation` must be a finite number, at least 0"):
        TokenEmbedding(11, hidden_dim=4, deviation=-1.0)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_every_id_finds_its_own_row(policy: str) -> None:
    # float16 cannot hold 2909: an id that passes through it comes back as 2908.
    embedding = TokenEmbedding(3000, hidden_dim=2, scale=False, dtype=policy)
    embedding.build()
    embedding.set_weights([np.stack([np.arange(3000) % 2, np.arange(3000) // 2], axis=1)])
    row = ops.convert_to_numpy(ops.cast(embedding(np.array([2909])), "float32"))
    assert row.tolist() == [[1.0, 1454.0]]
    logits = embedding(np.ones((1, 2), "float32"), reverse=True)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_float_ids_are_refused(policy: str) -> None:
    with pytest.raises(TypeError, match=r"Token ids must be integers.*Received: ids of dtype float"):
        TokenEmbedding(11, hidden_dim=4, dtype=policy)(np.array([[1.0, 2.0]], "float32"))


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match=r"`vocabulary_size` must be a positive integer.*vocabulary_size=0"):
        TokenEmbedding(0, hidden_dim=4)
