"""A whole forward pass of each variant against plain NumPy in float64."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.models import Transformer

SIZES: dict[str, Any] = {"num_layers": 2, "hidden_dim": 12, "intermediate_dim": 11, "num_heads": 3}
SLOPES = {3: [2**-4, 2**-8, 2**-2], 4: [2**-2, 2**-4, 2**-6, 2**-8]}
"""ALiBi's: for 4 heads 2^-2, 2^-4 …; for 3 those of 2 heads, 2^-4 and 2^-8, and the first of those of 4."""


def sinusoids(length: int, width: int) -> np.ndarray:
    columns = np.arange(width)
    angles = np.arange(length)[:, None] / 10_000.0 ** (2 * (columns // 2) / width)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


def timescales(length: int, width: int) -> np.ndarray:
    """Sines of positions counted from 1, then cosines; the exponents go from 0 to 1, both there."""
    angles = np.arange(1, length + 1)[:, None] / 10_000.0 ** np.linspace(0, 1, width // 2)
    return np.concatenate([np.sin(angles), np.cos(angles)], -1)


def turned(vector: np.ndarray, position: int) -> np.ndarray:
    """Su et al.: each pair as a complex number that turns; its parts are half a vector apart."""
    half = len(vector) // 2
    angles = position * 10_000.0 ** (-2 * np.arange(half) / len(vector))
    pairs = (vector[:half] + 1j * vector[half:]) * np.exp(1j * angles)
    return np.concatenate([pairs.real, pairs.imag])


@dataclass
class Reference:
    """The formulas, one sentence, one head and one pair of positions after the other."""

    weights: dict[str, np.ndarray]
    settings: dict[str, Any]
    prefix: str = field(default="", init=False)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.weights[f"{self.prefix}{name}"]

    def get(self, setting: str, default: Any = None) -> Any:
        value = self.settings.get(setting, default)
        if self.prefix.startswith("decoder") and self.settings.get(f"decoder_{setting}") is not None:
            return self.settings[f"decoder_{setting}"]
        return value

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        if self.get("norm_kind") == "rms":
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * self[f"{name}/gamma"]
        deviation = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return (x - x.mean(-1, keepdims=True)) / deviation * self[f"{name}/gamma"] + self[f"{name}/beta"]

    def dense(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self[f"{name}_kernel"] + self[f"{name}_bias"]

    def attention(
        self, x: np.ndarray, memory: np.ndarray, mask: np.ndarray, name: str, positions: str | None
    ) -> np.ndarray:
        """`x` [T, D], `memory` [S, D'], `mask` [T, S]."""
        num_heads = self.get("num_heads")
        num_groups = self.get("num_key_value_heads") or num_heads
        query, key, value = (
            self.dense(states, f"{name}/attention/{role}")
            for states, role in ((x, "query"), (memory, "key"), (memory, "value"))
        )
        outputs = []
        for head in range(num_heads):
            group = head * num_groups // num_heads
            columns = [np.split(part, count, -1) for part, count in ((query, num_heads), (key, num_groups))]
            slope = SLOPES[num_heads][head]
            q, k, v = columns[0][head], columns[1][group], np.split(value, num_groups, -1)[group]
            outputs.append(self.head(q, k, v, mask, f"{name}/attention/positions", positions, slope))
        return self.dense(np.concatenate(outputs, -1), f"{name}/attention/output")

    def head(
        self,
        query: np.ndarray,
        key: np.ndarray,
        value: np.ndarray,
        mask: np.ndarray,
        tables: str,
        positions: str | None,
        slope: float,
    ) -> np.ndarray:
        scores, values = np.zeros(mask.shape), np.zeros((*mask.shape, value.shape[-1]))
        for t, s in np.ndindex(mask.shape):
            q, k, v = query[t], key[s], value[s]
            if positions == "rotary":
                q, k = turned(q, t), turned(k, s)
            if positions == "relative":
                row = max(-2, min(2, s - t)) + 2  # max_distance is 2 in these tests
                k, v = k + self[f"{tables}/key_table"][row], v + self[f"{tables}/value_table"][row]
            scores[t, s] = q @ k / math.sqrt(len(q)) - (slope * abs(t - s) if positions == "alibi" else 0)
            values[t, s] = v
        shares = np.where(mask, np.exp(scores - scores.max()), 0)
        shares /= shares.sum(-1, keepdims=True)
        return np.einsum("ts,tsv->tv", shares, values)

    def network(self, x: np.ndarray, name: str) -> np.ndarray:
        inner = self.dense(x, f"{name}/network/inner")
        match self.get("activation", "relu"):
            case "relu":
                inner = np.maximum(inner, 0)
            case "gelu":
                inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
            case "gelu_tanh":
                inner = inner * (1 + np.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3))) / 2
            case "swish":
                inner = inner / (1 + np.exp(-inner))
            case "swiglu":
                gate = self.dense(x, f"{name}/network/gate")
                inner = inner * gate / (1 + np.exp(-gate))
        return self.dense(inner, f"{name}/network/output")

    def residual(self, x: np.ndarray, name: str, part: Any) -> np.ndarray:
        if self.get("norm") == "pre":
            return x + part(self.norm(x, f"{name}/norm"))
        return self.norm(x + part(x), f"{name}/norm")

    def embedded(self, ids: np.ndarray, side: str, table: str) -> np.ndarray:
        self.prefix = ""
        width = self[table].shape[-1]
        states, kind = self[table][ids] * np.sqrt(width), self.get("positions", "sinusoidal")
        if kind == "sinusoidal":
            states = states + sinusoids(len(ids), width)
        if kind == "timescale":
            states = states + timescales(len(ids), width)
        if kind == "index":
            states = states + np.arange(len(ids))[:, None] / 100 * np.where(np.arange(width) % 2, -1, 1)
        if kind == "learned":
            states = states + self[f"{side}_positions/table"][: len(ids)]
        return self.norm(states, f"{side}_positions/norm") if self.get("embedding_norm") else states

    def stack(self, states: np.ndarray, name: str, mask: np.ndarray, memory: Any = None) -> np.ndarray:
        self.prefix = f"{name}/"
        positions = self.get("positions")
        for depth in range(self.get("num_layers")):
            self.prefix = f"{name}/block_{0 if self.get('share_layers') else depth}/"
            states = self.residual(
                states, "self_attention", lambda x: self.attention(x, x, mask, "self_attention", positions)
            )
            if memory is not None:
                states = self.residual(
                    states, "cross_attention", lambda x: self.attention(x, *memory, "cross_attention", None)
                )
            states = self.residual(states, "feed_forward", lambda x: self.network(x, "feed_forward"))
        self.prefix = f"{name}/"
        return self.norm(states, "final_norm") if self.get("norm") == "pre" else states

    def logits(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """One sentence: `source` [S], `target` [T]."""
        tied = "embedding/table" in self.weights
        tables = ["embedding/table"] * 2 if tied else ["source_embedding/table", "target_embedding/table"]
        real = source != 0
        encoded = self.embedded(source, "source", tables[0])
        memory = self.stack(encoded, "encoder", np.tile(real, (len(source), 1)))
        states = self.embedded(target, "target", tables[1])
        causal = np.tril(np.ones((len(target), len(target)), bool))
        states = self.stack(states, "decoder", causal, (memory, np.tile(real, (len(target), 1))))
        layer = "output_embedding" if self.get("tie_embeddings") == "none" else tables[1].split("/")[0]
        logits = states @ self.weights[f"{layer}/table"].T
        return logits + self.weights[f"{layer}/output_bias"] if self.get("output_bias") else logits


@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "pre"},
        {"norm": "post"},
        {"positions": "index", "activation": "gelu"},
        {"positions": "learned", "max_length": 13, "embedding_norm": True, "activation": "gelu_tanh"},
        {"positions": "relative", "max_distance": 2},
        {"positions": "timescale", "activation": "swish", "output_bias": True},
        {"positions": "none", "output_bias": True, "tie_embeddings": "output"},
        {"positions": "none", "output_bias": True, "tie_embeddings": "none"},
        {"positions": "rotary"},
        {"positions": "alibi"},
        {"positions": "alibi", "num_heads": 4, "decoder_num_heads": 3, "activation": "swiglu"},
        {"norm_kind": "rms", "norm": "pre"},
        {"num_key_value_heads": 1},
        {"num_heads": 4, "num_key_value_heads": 2},
        {"share_layers": True, "num_layers": 3, "decoder_num_layers": 2},
        {"decoder_hidden_dim": 6, "decoder_num_layers": 1, "decoder_intermediate_dim": 7},
        *(
            {
                "positions": positions,
                "max_distance": 2,
                "norm": "pre",
                "norm_kind": "rms",
                "num_heads": 4,
                "num_key_value_heads": 2,
                "hidden_dim": 16,
                "decoder_hidden_dim": 8,
                "share_layers": True,
                "embedding_norm": True,
            }
            for positions in ("relative", "rotary")
        ),
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_forward_pass(settings: dict[str, Any]) -> None:
    settings = {**SIZES, **settings}
    rng = np.random.default_rng(3)
    model = Transformer(13, **settings)
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
        expected = Reference(weights, settings).logits(source[row], target[row])
        np.testing.assert_allclose(given[row], expected, rtol=1e-4, atol=1e-4)


def test_the_loss_sees_the_bias_of_the_logits_and_trains_it() -> None:
    model = Transformer(13, **SIZES, output_bias=True, dropout=0.0, seed=3)
    model.output_embedding.bias.assign(np.linspace(-2, 2, 13))
    inputs = {"source_ids": np.array([[5, 7, 3]]), "target_ids": np.array([[2, 9, 4]])}
    labels = np.array([[9, 4, 3]])
    logits = np.asarray(model(inputs)).astype("float64")[0]
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    expected = -np.log(shares[np.arange(3), labels[0]]).sum()
    for chunk in (None, 2):
        with tf.GradientTape() as tape:
            loss = model.training_loss(inputs, labels, chunk=chunk)
        np.testing.assert_allclose(loss, expected, rtol=1e-5)
        # of each position: the shares, less 1 at the label
        gradient = tape.gradient(loss, model.output_embedding.bias.value)
        np.testing.assert_allclose(gradient, (shares - np.eye(13)[labels[0]]).sum(0), atol=1e-5)
