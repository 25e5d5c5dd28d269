"""The encoder: masks, final norm, errors."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import Encoder, EncoderBlock

RNG = np.random.default_rng(3)
STATES = RNG.normal(size=(2, 7, 6)).astype("float32")


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_what_is_masked_changes_nothing_else(norm: str) -> None:
    encoder = Encoder(2, num_heads=3, intermediate_dim=11, norm=norm)
    mask = np.arange(7)[None, :] < np.array([[7], [4]])
    changed = np.where(mask[:, :, None], STATES, 50 * STATES)
    before = ops.convert_to_numpy(encoder(STATES, attention_mask=mask))
    after = ops.convert_to_numpy(encoder(changed, attention_mask=mask))
    np.testing.assert_array_equal(before[mask], after[mask])
    shorter = encoder(STATES[1:, :4])
    np.testing.assert_allclose(before[1:, :4], shorter, atol=1e-5)


def test_pre_norm_ends_in_a_norm() -> None:
    outputs = ops.convert_to_numpy(Encoder(2, 3, 11, norm="pre")(STATES))
    np.testing.assert_allclose(outputs.mean(-1), np.zeros((2, 7)), atol=1e-5)
    np.testing.assert_allclose(outputs.std(-1), np.ones((2, 7)), atol=1e-2)


def test_blocks_of_one_seed_differ() -> None:
    encoder = Encoder(2, 3, 11, seed=5)
    encoder.build(STATES.shape)
    kernels = [weight for weight in encoder.weights if weight.path.endswith("query_kernel")]
    assert [kernel.path.split("/")[-4] for kernel in kernels] == ["block_0", "block_1"]
    assert np.any(ops.convert_to_numpy(kernels[0]) != ops.convert_to_numpy(kernels[1]))


def test_a_mask_hidden_on_a_tensor_is_not_used() -> None:
    block = EncoderBlock(3, 11)
    tokens = keras.layers.Embedding(5, 6, mask_zero=True)(np.array([[1, 2, 0]]))
    np.testing.assert_array_equal(block(tokens), block(ops.convert_to_numpy(tokens)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"activation": "tanh"}, "`activation` must be one of"),
        ({"norm": "both"}, "`norm` must be one of"),
        ({"attention_dropout": -0.1}, "`attention_dropout` must be at least 0"),
        ({"intermediate_dim": 0}, "`intermediate_dim` must be a positive integer"),
    ],
)
def test_wrong_arguments_stop_the_constructor(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EncoderBlock(**{"num_heads": 3, "intermediate_dim": 11, **arguments})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        Encoder(**{"num_layers": 2, "num_heads": 3, "intermediate_dim": 11, **arguments})  # type: ignore[arg-type]


def test_number_of_layers() -> None:
    with pytest.raises(ValueError, match=r"`num_layers` must be a positive integer. Received: num_layers=0"):
        Encoder(0, 3, 11)
