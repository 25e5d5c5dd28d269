"""Several models as one: the mean of probabilities, by both routes."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.models import Transformer
from tf_transformer.models.ensemble import Ensemble

SOURCE = np.array([[5, 7, 3, 0], [4, 6, 9, 3]])
TARGET = np.array([[2, 5, 8], [2, 9, 0]])


def model(seed: int, size: int = 11) -> Transformer:
    return Transformer(
        vocabulary_size=size, num_layers=2, hidden_dim=8, intermediate_dim=12, num_heads=2, seed=seed
    )


def test_probabilities_are_means_whole_and_step_by_step() -> None:
    members = [model(1), model(2), model(2)]
    ensemble = Ensemble(members)
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    expected = np.mean([keras.activations.softmax(one(inputs)) for one in members], axis=0)
    memory = ensemble.encode(SOURCE)
    np.testing.assert_allclose(np.exp(ensemble.decode(TARGET, memory)), expected, rtol=1e-4)
    logits, attention = ensemble.decode_attending(TARGET, memory)
    np.testing.assert_allclose(np.exp(logits), expected, rtol=1e-4)
    cross = np.mean([np.mean(one.attention(inputs)["cross"][0], axis=1) for one in members], axis=0)
    np.testing.assert_allclose(attention, cross, rtol=1e-4, atol=1e-6)
    cache = ensemble.start_cache(memory, num_hypotheses=1)
    for place in range(2):
        logits, seen, _ = ensemble.attending_step(ops.cast(TARGET[:, place : place + 1], "int32"), cache)
        again, cache = ensemble.step(ops.cast(TARGET[:, place : place + 1], "int32"), cache)
        np.testing.assert_allclose(np.exp(logits)[:, 0], expected[:, place], rtol=1e-4)
        np.testing.assert_array_equal(logits, again)
        np.testing.assert_allclose(np.asarray(seen)[:, 0], cross[:, place], rtol=1e-4, atol=1e-6)


def test_one_alone_is_itself() -> None:
    alone = model(3)
    ensemble = Ensemble([alone])
    logits = ensemble.decode(TARGET, ensemble.encode(SOURCE))
    own = alone.decode(TARGET, alone.encode(SOURCE))
    np.testing.assert_allclose(logits, ops.log_softmax(own), rtol=1e-4, atol=1e-6)
    assert (ensemble.max_length, ensemble.source_vocabulary_size) == (None, 11)


def test_members_that_do_not_fit_together() -> None:
    with pytest.raises(ValueError, match=r"`members` must be at least one model\. Received: none"):
        Ensemble([])
    with pytest.raises(
        ValueError, match=r"must have the same `source_vocabulary_size`\. Received: \[11, 12\]"
    ):
        Ensemble([model(1), model(1, 12)])
