"""Decoding step by step equals decoding whole sequences."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.models import Transformer

RNG = np.random.default_rng(3)
SOURCE = np.where(np.arange(7) < [[7], [4]], RNG.integers(1, 13, (2, 7)), 0).astype("int32")
HYPOTHESES, LENGTH = 3, 5


def small(**settings: Any) -> Transformer:
    sizes = {"num_layers": 2, "hidden_dim": 6, "intermediate_dim": 11, "num_heads": 3}
    return Transformer(**{"vocabulary_size": 13, "seed": 7, "dropout": 0.5, **sizes, **settings})


def reordered(cache: dict[str, Any], parents: Any) -> dict[str, Any]:
    hypotheses = tf.nest.map_structure(
        lambda leaf: tf.gather(leaf, parents, batch_dims=1), cache["hypotheses"]
    )
    return {**cache, "hypotheses": hypotheses}


def whole(model: Transformer, histories: np.ndarray) -> np.ndarray:
    """The logits after the last token of `histories` `[B, K, t]`, from whole sequences, sources repeated."""
    rows = histories.reshape(-1, histories.shape[-1])
    inputs = {"source_ids": SOURCE.repeat(histories.shape[1], 0), "target_ids": rows}
    return np.asarray(model(inputs))[:, -1].reshape(*histories.shape[:2], -1)


def moves() -> tuple[np.ndarray, np.ndarray]:
    """For each step the tokens `[steps, B, K]`, and whose continuations they are."""
    shape = (LENGTH, 2, HYPOTHESES)
    return RNG.integers(1, 13, shape).astype("int32"), RNG.integers(0, HYPOTHESES, shape).astype("int32")


@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "post"},
        {"norm": "deep"},
        {"norm": "pre", "positions": "learned", "max_length": 11},
        {"positions": "none", "activation": "swiglu", "tie_embeddings": "none"},
        {"positions": "index", "embedding_norm": True},
        {"positions": "relative", "max_distance": 2, "num_heads": 2, "num_key_value_heads": 1},
        {"positions": "rotary", "norm_kind": "rms", "norm": "pre", "share_layers": True},
        {"positions": "alibi", "decoder_hidden_dim": 12, "decoder_num_heads": 4, "decoder_num_layers": 1},
    ],
)
def test_steps_of_hypotheses_that_change_places(settings: dict[str, Any]) -> None:
    model = small(**settings)
    memory = model.encode(SOURCE)
    cache = model.start_cache(memory, num_hypotheses=HYPOTHESES)
    heads = {tuple(leaf.shape) for leaf in tf.nest.flatten(cache["shared"]["memory_heads"])}
    num_heads = settings.get("decoder_num_heads") or settings.get("num_heads") or 3
    head_dim = settings.get("decoder_hidden_dim", 6) // num_heads
    num_groups = settings.get("num_key_value_heads") or num_heads
    assert heads == {(2, num_groups, 7, head_dim)}  # [B, G, S, d], whatever the number of hypotheses
    histories = np.zeros((2, HYPOTHESES, 0), "int32")
    for tokens, parents in zip(*moves(), strict=True):
        cache = reordered(cache, parents)
        histories = np.take_along_axis(histories, parents[:, :, None], axis=1)
        histories = np.concatenate([histories, tokens[:, :, None]], axis=-1)
        logits, cache = model.step(tokens, cache)
        assert logits.dtype == tf.float32
        np.testing.assert_allclose(logits, whole(model, histories), atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"positions": "relative", "num_heads": 2, "num_key_value_heads": 1},
        {"positions": "rotary", "decoder_num_layers": 1},
        {"positions": "alibi", "share_layers": True},
    ],
)
def test_inside_a_compiled_loop_of_unknown_shapes(settings: dict[str, Any]) -> None:
    model = small(**settings)
    tokens, parents = moves()

    @tf.function(
        input_signature=[tf.TensorSpec([None, None], tf.int32)] + [tf.TensorSpec([None] * 3, tf.int32)] * 2
    )
    def decode(source: tf.Tensor, tokens: tf.Tensor, parents: tf.Tensor) -> tf.Tensor:
        cache = model.start_cache(model.encode(source), num_hypotheses=tf.shape(tokens)[2])
        collected = tf.TensorArray(tf.float32, tf.shape(tokens)[0])

        def body(index: tf.Tensor, hypotheses: Any, collected: tf.TensorArray) -> Any:
            past = reordered({"hypotheses": hypotheses, "shared": cache["shared"]}, parents[index])
            logits, new = model.step(tokens[index], past)
            return index + 1, new["hypotheses"], collected.write(index, logits)

        growing = tf.nest.map_structure(
            lambda leaf: tf.TensorShape([*leaf.shape[:-2], None, leaf.shape[-1]]), cache["hypotheses"]
        )
        *_, collected = tf.while_loop(
            lambda index, *_: index < tf.shape(tokens)[0],
            body,
            [tf.constant(0), cache["hypotheses"], collected],
            shape_invariants=[tf.TensorShape([]), growing, tf.TensorShape(None)],
        )
        return collected.stack()

    stepwise = decode(SOURCE, tokens, parents)
    histories = np.zeros((2, HYPOTHESES, 0), "int32")
    for index in range(LENGTH):
        histories = np.take_along_axis(histories, parents[index][:, :, None], axis=1)
        histories = np.concatenate([histories, tokens[index][:, :, None]], axis=-1)
    np.testing.assert_allclose(stepwise[-1], whole(model, histories), atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_steps_in_half_precision(policy: str) -> None:
    model = small(dtype=policy)
    tokens, _ = moves()
    cache = model.start_cache(model.encode(SOURCE), num_hypotheses=HYPOTHESES)
    for index in range(LENGTH):
        logits, cache = model.step(tokens[index], cache)
    assert {leaf.dtype.name for leaf in tf.nest.flatten(cache["hypotheses"])} == {
        policy.removeprefix("mixed_")
    }
    np.testing.assert_allclose(logits, whole(model, np.moveaxis(tokens, 0, -1)), atol=0.05)
