"""A whole forward pass against plain NumPy in float64."""

from typing import Any

import numpy as np
import pytest

from tf_transformer.models import Transformer

HEADS, WIDTH = 3, 6
Weights = dict[str, np.ndarray]


def positions(length: int) -> np.ndarray:
    columns = np.arange(WIDTH)
    angles = np.arange(length)[:, None] / 10_000.0 ** (2 * (columns // 2) / WIDTH)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


def norm(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return centred / deviation * weights[f"{name}/gamma"] + weights[f"{name}/beta"]


def dense(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    return x @ weights[f"{name}_kernel"] + weights[f"{name}_bias"]


def attention(x: np.ndarray, memory: np.ndarray, mask: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    """One sentence and one head after the other: `x` [T, D], `memory` [S, D], `mask` [T, S]."""
    query, key, value = (
        dense(states, weights, f"{name}/attention/{role}")
        for states, role in ((x, "query"), (memory, "key"), (memory, "value"))
    )
    heads = []
    for columns in np.split(np.arange(WIDTH), HEADS):
        scores = query[:, columns] @ key[:, columns].T / np.sqrt(len(columns))
        shares = np.where(mask, np.exp(scores - scores.max()), 0)
        heads.append(shares / shares.sum(-1, keepdims=True) @ value[:, columns])
    return dense(np.concatenate(heads, -1), weights, f"{name}/attention/output")


def residual(x: np.ndarray, part: Any, weights: Weights, name: str, pre: bool) -> np.ndarray:
    if pre:
        return x + part(norm(x, weights, f"{name}/norm"))
    return norm(x + part(x), weights, f"{name}/norm")


def network(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    return dense(np.maximum(dense(x, weights, f"{name}/network/inner"), 0), weights, f"{name}/network/output")


def logits(
    source: np.ndarray, target: np.ndarray, weights: Weights, num_layers: int, pre: bool
) -> np.ndarray:
    """One sentence: `source` [S], `target` [T]."""
    table = weights["embedding/table"]
    real = (source != 0)[None, :]
    memory = table[source] * np.sqrt(WIDTH) + positions(len(source))
    for index in range(num_layers):
        name = f"encoder/block_{index}"
        inner = f"{name}/self_attention"
        memory = residual(memory, lambda x, n=inner: attention(x, x, real, weights, n), weights, inner, pre)
        inner = f"{name}/feed_forward"
        memory = residual(memory, lambda x, n=inner: network(x, weights, n), weights, inner, pre)
    if pre:
        memory = norm(memory, weights, "encoder/final_norm")
    causal = np.tril(np.ones((len(target), len(target)), bool))
    states = table[target] * np.sqrt(WIDTH) + positions(len(target))
    for index in range(num_layers):
        name = f"decoder/block_{index}"
        inner = f"{name}/self_attention"
        states = residual(states, lambda x, n=inner: attention(x, x, causal, weights, n), weights, inner, pre)
        inner = f"{name}/cross_attention"
        states = residual(
            states, lambda x, n=inner, m=memory: attention(x, m, real, weights, n), weights, inner, pre
        )
        inner = f"{name}/feed_forward"
        states = residual(states, lambda x, n=inner: network(x, weights, n), weights, inner, pre)
    if pre:
        states = norm(states, weights, "decoder/final_norm")
    return states @ table.T


@pytest.mark.parametrize("kind", ["pre", "post"])
def test_forward_pass(kind: str) -> None:
    rng = np.random.default_rng(3)
    model = Transformer(13, num_layers=2, hidden_dim=WIDTH, intermediate_dim=11, num_heads=HEADS, norm=kind)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape) * 0.7)
    weights = {
        variable.path.removeprefix("transformer/"): np.asarray(variable).astype("float64")
        for variable in model.trainable_variables
    }
    source = np.where(np.arange(7) < [[7], [4]], rng.integers(1, 13, (2, 7)), 0)
    target = rng.integers(1, 13, (2, 5))
    given = np.asarray(model({"source_ids": source, "target_ids": target}))
    for row in range(2):
        expected = logits(source[row], target[row], weights, num_layers=2, pre=kind == "pre")
        np.testing.assert_allclose(given[row], expected, rtol=1e-4, atol=1e-4)
