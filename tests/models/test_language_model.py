"""The language model: its reference, causality, the cache, its size, its losses, saving."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.losses import MaskedCrossEntropy, smoothed_cross_entropy
from tf_transformer.models import LanguageModel

RNG = np.random.default_rng(3)
HEADS, WIDTH = 3, 6
IDS = RNG.integers(1, 13, (2, 5)).astype("int32")
INPUTS = {"target_ids": IDS}


def small(**settings: Any) -> LanguageModel:
    sizes = {"num_layers": 2, "hidden_dim": WIDTH, "intermediate_dim": 11, "num_heads": HEADS}
    return LanguageModel(**{"vocabulary_size": 13, "seed": 7, **sizes, **settings})


def reference(ids: np.ndarray, weights: dict[str, np.ndarray]) -> np.ndarray:
    """Logits [T, V] of one text [T], pre-norm and learned positions, one head after the other, in float64."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return (
            centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weights[f"{name}/gamma"]
            + weights[f"{name}/beta"]
        )

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}_kernel"] + weights[f"{name}_bias"]

    length = len(ids)
    states = weights["embedding/table"][ids] * np.sqrt(WIDTH) + weights["positions/table"][:length]
    for index in range(2):
        name = f"stack/block_{index}/self_attention"
        entered = norm(states, f"{name}/norm")
        query, key, value = (dense(entered, f"{name}/attention/{role}") for role in ("query", "key", "value"))
        heads = []
        for columns in np.split(np.arange(WIDTH), HEADS):
            scores = query[:, columns] @ key[:, columns].T / np.sqrt(len(columns))
            shares = np.tril(np.exp(scores))
            heads.append(shares / shares.sum(-1, keepdims=True) @ value[:, columns])
        states = states + dense(np.concatenate(heads, -1), f"{name}/attention/output")
        name = f"stack/block_{index}/feed_forward"
        inner = np.maximum(dense(norm(states, f"{name}/norm"), f"{name}/network/inner"), 0)
        states = states + dense(inner, f"{name}/network/output")
    return norm(states, "stack/final_norm") @ weights["embedding/table"].T


def test_forward_pass() -> None:
    model = small(activation="relu", positions="learned", max_length=7)
    for variable in model.trainable_variables:
        variable.assign(RNG.normal(size=variable.shape) * 0.7)
    weights = {
        variable.path.removeprefix("language_model/"): np.asarray(variable).astype("float64")
        for variable in model.trainable_variables
    }
    given = np.asarray(model(INPUTS))
    for row in range(2):
        np.testing.assert_allclose(given[row], reference(IDS[row], weights), rtol=1e-4, atol=1e-4)


def test_parameters_by_hand() -> None:
    # An attention has 4 (6 * 6 + 6) = 168 parameters, a network 6 * 11 + 11 + 11 * 6 + 6 = 149, a norm 12.
    plain = 13 * 6 + 2 * (168 + 149 + 2 * 12) + 12
    assert small().count_params() == plain
    assert small(tie_embeddings=False).count_params() == plain + 13 * 6
    assert small(norm="deep").count_params() == plain - 12
    assert small(positions="learned", max_length=17).count_params() == plain + 17 * 6


def test_neither_the_future_nor_padding_reaches_a_token() -> None:
    model = small()
    plain = np.asarray(model(INPUTS))
    future = np.where(np.arange(5) < 3, IDS, 13 - IDS)
    np.testing.assert_array_equal(model({"target_ids": future})[:, :3], plain[:, :3])
    padded = np.pad(IDS, ((0, 0), (0, 4)))
    np.testing.assert_allclose(model({"target_ids": padded})[:, :5], plain, atol=1e-5)
    first, second = (small(dropout=0.5, attention_dropout=0.5) for _ in range(2))  # the same random numbers
    before, after = first(INPUTS, training=True), second({"target_ids": future}, training=True)
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert np.abs(np.asarray(before) - plain).max() > 1e-3
    for block in model.attention(INPUTS)["decoder"]:
        assert tuple(block.shape) == (2, 3, 5, 5)
        assert np.all(np.triu(np.asarray(block), 1) == 0)
        np.testing.assert_allclose(np.asarray(block).sum(-1), np.ones((2, 3, 5)), rtol=1e-5)


def reordered(cache: dict[str, Any], parents: Any) -> dict[str, Any]:
    move = lambda leaf: tf.gather(leaf, parents, batch_dims=1)  # noqa: E731
    return {**cache, "hypotheses": tf.nest.map_structure(move, cache["hypotheses"])}


@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "deep", "activation": "swiglu"},
        {"positions": "learned", "max_length": 11},
        {"positions": "relative", "max_distance": 2, "embedding_norm": True},
        {"positions": "rotary", "num_key_value_heads": 1, "norm_kind": "rms"},
        {"positions": "alibi", "share_layers": True},
    ],
)
def test_steps_and_readings_of_texts_that_change_places(settings: dict[str, Any]) -> None:
    model = small(dropout=0.5, **settings)
    histories = RNG.integers(1, 13, (2, 5, 3)).astype("int32")  # [B, K, t]
    logits, cache = model.read(histories, model.start_cache(2, 5))
    for taken in (1, 3, 1):
        expected = np.asarray(model({"target_ids": histories.reshape(10, -1)}))[:, -1].reshape(2, 5, 13)
        np.testing.assert_allclose(logits, expected, atol=1e-5)
        parents = RNG.integers(0, 5, (2, 5))
        more = RNG.integers(1, 13, (2, 5, taken)).astype("int32")
        histories = np.take_along_axis(histories, parents[:, :, None], axis=1)
        histories = np.concatenate([histories, more], axis=-1)
        cache = reordered(cache, parents)
        logits, cache = model.step(more[..., 0], cache) if taken == 1 else model.read(more, cache)
    shapes = {tuple(leaf.shape) for leaf in tf.nest.flatten(cache["hypotheses"])}
    assert shapes == {(2, 5, settings.get("num_key_value_heads", 3), 8, 2)}


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_in_a_compiled_loop_of_unknown_shapes(policy: str) -> None:
    model = small(dtype=policy)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
    def last_logits(ids: tf.Tensor) -> tf.Tensor:
        start = model.start_cache(tf.shape(ids)[0])["hypotheses"]
        growing = tf.nest.map_structure(lambda leaf: tf.TensorShape([None, 1, HEADS, None, 2]), start)

        def body(index: tf.Tensor, logits: tf.Tensor, hypotheses: Any) -> Any:
            token = tf.gather(ids, index, axis=1)[:, None]
            logits, cache = model.step(token, {"hypotheses": hypotheses, "shared": {}})
            return index + 1, logits, cache["hypotheses"]

        nothing = tf.zeros([tf.shape(ids)[0], 1, 13])
        shapes = [tf.TensorShape([]), tf.TensorShape([None, 1, 13]), growing]
        return tf.while_loop(
            lambda index, *_: index < tf.shape(ids)[1], body, [tf.constant(0), nothing, start], shapes
        )[1]

    tolerance = 1e-5 if policy == "float32" else 0.05
    np.testing.assert_allclose(last_logits(IDS)[:, 0], model(INPUTS)[:, -1], atol=tolerance)


def test_losses_are_those_of_the_logits() -> None:
    model = small(tie_embeddings=False)
    labels = np.array([[5, 7, 3, 0, 0], [12, 4, 4, 9, 3]], "int32")
    expected = np.sum(smoothed_cross_entropy(labels, model(INPUTS), 0.1))
    for chunk in (None, 4):
        np.testing.assert_allclose(model.training_loss(INPUTS, labels, 0.1, chunk=chunk), expected, rtol=1e-5)


def test_what_a_batch_holds() -> None:
    labels = np.array([[5, 7, 3, 0, 0], [12, 4, 4, 9, 3]], "int32")
    counts = {name: int(count) for name, count in small(num_layers=1).counts(INPUTS, labels).items()}
    assert counts == {"target_tokens": 8, "target_positions": 10}
    assert tuple(counts) == LanguageModel.COUNTS


def test_fit_save_and_load(tmp_path: Path) -> None:
    model = small(num_layers=1)
    model.compile(keras.optimizers.Adam(0.01), MaskedCrossEntropy())
    labels = np.roll(IDS, -1, axis=1)
    history = model.fit(INPUTS, labels, epochs=30, verbose=0, shuffle=False).history["loss"]
    assert history[-1] < 0.8 * history[0]
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(loaded(INPUTS), model(INPUTS))
    assert loaded.get_config() == model.get_config()
    assert json.loads(json.dumps(model.get_config()))["vocabulary_size"] == 13


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vocabulary_size": 0}, r"`vocabulary_size` must be at least 1\. Received: 0"),
        ({"num_layers": 1.5}, r"`num_layers` must be a whole number, at least 1\. Received: 1\.5"),
        ({"norm": "none"}, r"`norm` must be one of 'post', 'pre', 'deep'\. Received: norm='none'"),
        ({"tie_embeddings": "all"}, r"`tie_embeddings` must be True or False\. Received: 'all'"),
        ({"num_heads": 4}, r"must be divisible by `num_heads`.*hidden_dim=6, num_heads=4"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        small(**settings)


def test_wrong_inputs() -> None:
    model = small(num_layers=1)
    with pytest.raises(ValueError, match=r"Inputs must be a dict with `target_ids`\. Received: EagerTensor"):
        model(IDS)
    with pytest.raises(ValueError, match=r"`target_ids` must be whole numbers, .* 13\. Received: 13"):
        model({"target_ids": IDS + 13 - IDS})
    with pytest.raises(ValueError, match=r"`ids` must be whole numbers, .* 13\. Received: -1"):
        model.step(-IDS // IDS, model.start_cache(2, 5))
