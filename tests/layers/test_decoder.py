"""The decoder as layers of a user's own: causality, memory, masks."""

import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import Decoder, DecoderBlock

RNG = np.random.default_rng(3)
STATES = RNG.normal(size=(2, 5, 6)).astype("float32")
MEMORY = RNG.normal(size=(2, 7, 10)).astype("float32")


@pytest.mark.parametrize("make", [lambda: DecoderBlock(3, 11), lambda: Decoder(2, 3, 11, norm="pre")])
def test_causal_without_being_told_to(make: object) -> None:
    layer = make()  # type: ignore[operator]
    changed = np.concatenate([STATES[:, :3], 10 * STATES[:, 3:]], axis=1)
    before, after = layer(STATES, MEMORY), layer(changed, MEMORY)
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert np.any(ops.convert_to_numpy(before[:, 3:] != after[:, 3:]))
    mask = np.ones((2, 5), bool)  # "everything" does not lift causality
    np.testing.assert_array_equal(layer(changed, MEMORY, attention_mask=mask), after)


def test_the_memory_matters_where_it_is_not_masked() -> None:
    decoder = Decoder(2, 3, 11)
    mask = np.array([[True] * 4 + [False] * 3] * 2)
    plain = decoder(STATES, MEMORY, cross_attention_mask=mask)
    hidden = np.where(mask[:, :, None], MEMORY, 50 * MEMORY)
    seen = np.where(mask[:, :, None], 2 * MEMORY, MEMORY)
    np.testing.assert_array_equal(decoder(STATES, hidden, cross_attention_mask=mask), plain)
    assert np.any(ops.convert_to_numpy(decoder(STATES, seen, cross_attention_mask=mask) != plain))


def test_one_product_for_all_blocks_equals_one_each() -> None:
    decoder = Decoder(3, 2, 11)
    decoder(STATES, MEMORY)
    for block, together in zip(decoder._blocks, decoder.project_memory(MEMORY), strict=True):
        for alone, part in zip(block.cross_attention.project_memory(MEMORY), together, strict=True):
            np.testing.assert_allclose(alone, part, atol=1e-6)
