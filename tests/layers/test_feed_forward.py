"""The feed-forward network against its formulas in float64."""

import math

import numpy as np
import pytest

from tf_transformer.layers import FeedForward

RNG = np.random.default_rng(3)
INPUTS = RNG.normal(size=(2, 5, 7))

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
}


@pytest.mark.parametrize("activation", ["relu", "gelu", "swish", "swiglu"])
def test_formula(activation: str) -> None:
    layer = FeedForward(11, output_dim=3, activation=activation)
    layer.build((None, None, 7))
    weights = [RNG.normal(size=weight.shape) for weight in layer.get_weights()]
    layer.set_weights(weights)
    if activation == "swiglu":
        gate_kernel, gate_bias, kernel, bias, output_kernel, output_bias = weights
        gate = INPUTS @ gate_kernel + gate_bias
        inner = gate / (1 + np.exp(-gate)) * (INPUTS @ kernel + bias)
    else:
        kernel, bias, output_kernel, output_bias = weights
        inner = ACTIVATIONS[activation](INPUTS @ kernel + bias)
    expected = inner @ output_kernel + output_bias
    np.testing.assert_allclose(layer(INPUTS.astype("float32")), expected, rtol=1e-4, atol=1e-4)


def test_without_bias_zero_stays_zero() -> None:
    layer = FeedForward(11, use_bias=False)
    assert np.all(np.asarray(layer(np.zeros((2, 7), "float32"))) == 0)
    assert layer.count_params() == 7 * 11 * 2


def test_unknown_activation() -> None:
    with pytest.raises(
        ValueError, match=r"`activation` must be one of 'relu', .*Received: activation='tanh'"
    ):
        FeedForward(11, activation="tanh")
