"""Positions, norms, heads and stacks of other kinds: each by all routes that the plain model knows."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.models import Transformer

SIZES: dict[str, Any] = {"num_layers": 2, "hidden_dim": 12, "intermediate_dim": 11, "num_heads": 3}
RNG = np.random.default_rng(3)
SOURCE = RNG.integers(1, 13, (2, 7)).astype("int32")
TARGET = RNG.integers(1, 13, (2, 5)).astype("int32")
INPUTS = {"source_ids": SOURCE, "target_ids": TARGET}

# Each kind of each key once; the three together are what graphs, XLA and files are tried with.
VARIANTS: dict[str, dict[str, Any]] = {
    "index": {"positions": "index"},
    "relative": {"positions": "relative", "max_distance": 2},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "rms": {"norm_kind": "rms", "norm": "pre"},
    "grouped": {"num_heads": 4, "num_key_value_heads": 2},
    "multi-query": {"num_key_value_heads": 1},
    "decoder": {
        "decoder_num_layers": 1,
        "decoder_hidden_dim": 10,
        "decoder_intermediate_dim": 7,
        "decoder_num_heads": 5,
    },
    "shared": {"share_layers": True, "embedding_norm": True},
}
TOGETHER: dict[str, dict[str, Any]] = {
    "relative": {**VARIANTS["relative"], **VARIANTS["rms"], **VARIANTS["grouped"], "embedding_norm": True},
    "rotary": {**VARIANTS["rotary"], **VARIANTS["multi-query"], **VARIANTS["shared"]},
    "alibi": {**VARIANTS["alibi"], **VARIANTS["decoder"]},
    "index": VARIANTS["index"],
}


def small(**settings: Any) -> Transformer:
    return Transformer(**{"vocabulary_size": 13, "seed": 7, **SIZES, **settings})


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> dict[str, Any]:
    return VARIANTS[request.param]


def test_neither_the_future_nor_padding_reaches_a_token(variant: dict[str, Any]) -> None:
    model = small(**variant)
    plain = np.asarray(model(INPUTS))
    future = np.where(np.arange(5) < 3, TARGET, 13 - TARGET)
    np.testing.assert_allclose(model({**INPUTS, "target_ids": future})[:, :3], plain[:, :3], atol=1e-6)
    padded = {name: np.pad(ids, ((0, 0), (0, 4))) for name, ids in INPUTS.items()}
    np.testing.assert_allclose(model(padded)[:, :5], plain, atol=2e-5)
    alone = {name: ids[1:] for name, ids in INPUTS.items()}
    np.testing.assert_allclose(model(alone)[0], plain[1], atol=2e-5)
    moved = np.roll(SOURCE, 2, axis=1)
    assert np.abs(np.asarray(model({**INPUTS, "source_ids": moved})) - plain).max() > 1e-3


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(variant: dict[str, Any], policy: str) -> None:
    model, exact = small(dtype=policy, **variant), small(**variant)
    logits = model(INPUTS)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    np.testing.assert_allclose(logits, exact(INPUTS), atol=0.15)
    empty = model({"source_ids": 0 * SOURCE, "target_ids": 0 * TARGET})
    assert np.all(np.isfinite(np.asarray(empty)))


@pytest.mark.parametrize("name", TOGETHER)
def test_graph_and_xla_and_file(name: str, tmp_path: Path) -> None:
    model = small(**{"num_layers": 2 if name == "rotary" else 1, **TOGETHER[name]})
    logits = np.asarray(model(INPUTS))
    signature = [{side: tf.TensorSpec([None, None], tf.int32) for side in INPUTS}]
    graph = tf.function(model, input_signature=signature)
    np.testing.assert_allclose(graph(INPUTS), logits, atol=1e-5)
    np.testing.assert_allclose(tf.function(model, jit_compile=True)(INPUTS), logits, atol=1e-5)
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(loaded(INPUTS), logits)
    assert loaded.get_config() == model.get_config()


@pytest.mark.parametrize("name", TOGETHER)
def test_every_weight_learns(name: str) -> None:
    model = small(dropout=0.1, **TOGETHER[name])
    labels = np.array([[5, 7, 3, 0, 0], [12, 4, 4, 9, 3]], "int32")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model.training_loss(INPUTS, labels, 0.1, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        assert np.any(tf.convert_to_tensor(gradient).numpy()), variable.path


@pytest.mark.parametrize("settings", [{}, {"norm_kind": "rms"}, {"num_key_value_heads": 1}])
def test_without_positions_an_encoder_is_equivariant_to_permutations(settings: dict[str, Any]) -> None:
    order = np.array([4, 2, 6, 0, 5, 3, 1])
    model = small(positions="none", **settings)
    states = np.asarray(model.encode(SOURCE)["states"])
    np.testing.assert_allclose(model.encode(SOURCE[:, order])["states"], states[:, order], atol=1e-5)


@pytest.mark.parametrize("positions", ["sinusoidal", "index", "relative", "rotary", "alibi"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_with_positions_it_is_not(positions: str, norm: str) -> None:
    order = np.array([4, 2, 6, 0, 5, 3, 1])
    model = small(positions=positions, norm=norm)
    states = np.asarray(model.encode(SOURCE)["states"])
    assert np.abs(np.asarray(model.encode(SOURCE[:, order])["states"]) - states[:, order]).max() > 1e-3


@pytest.mark.parametrize("positions", ["relative", "rotary", "alibi", "sinusoidal"])
def test_distances_alone_do_not_tell_where_a_sentence_begins(positions: str) -> None:
    # One vector among equal ones, at place 3 or 4; two blocks that see one place either way.
    vectors = RNG.normal(size=(2, 1, 1, 12))
    rows = np.arange(9)[None, :, None]
    inputs = [np.where(rows == place, *vectors).astype("float32") for place in (3, 4)]
    near = np.abs(np.arange(9)[:, None] - np.arange(9))[None] <= 1
    model = small(positions=positions, max_distance=2)
    first, second = (
        np.asarray(model.encoder(model.source_positions(row), attention_mask=near)) for row in inputs
    )
    moved = np.abs(first[:, 2:6] - second[:, 3:7]).max()
    assert (moved > 1e-3) if positions == "sinusoidal" else (moved < 1e-5)


def test_symmetric_distances_do_not_tell_a_sentence_from_its_mirror_image() -> None:
    model = small(positions="alibi")
    states = np.asarray(model.encode(SOURCE)["states"])
    np.testing.assert_allclose(model.encode(SOURCE[:, ::-1])["states"], states[:, ::-1], atol=1e-5)
    # A decoder looks back only, and knows the order of what it has written.
    turned = np.concatenate([TARGET[:, 1::-1], TARGET[:, 2:]], axis=1)
    memory = model.encode(SOURCE)
    assert np.abs(np.asarray(model.decode(turned, memory) - model.decode(TARGET, memory))[:, 2:]).max() > 1e-3


def test_parameters() -> None:
    # D = 12, three heads of 4; a projection has 12 * 12 + 12 = 156 parameters, two layers on either side,
    # six attentions of four projections each.
    plain = small().count_params()
    assert small(positions="rotary").count_params() == plain
    assert small(positions="alibi").count_params() == plain
    assert small(positions="index").count_params() == plain
    # Four self-attentions with two tables of 2 * 5 + 1 distances.
    assert small(positions="relative", max_distance=5).count_params() == plain + 4 * 2 * 11 * 4
    assert small(norm_kind="rms").count_params() == plain - 10 * 12  # of ten norms the shift
    assert small(embedding_norm=True).count_params() == plain + 2 * 2 * 12
    # One head of keys and values in place of three: 13 * 4 in place of 13 * 12 parameters.
    assert small(num_key_value_heads=1).count_params() == plain - 6 * 2 * 13 * 8
    encoder, decoder = (
        sum(np.prod(weight.shape) for weight in stack.trainable_variables)
        for stack in (small().encoder, small().decoder)
    )
    assert small(share_layers=True).count_params() == plain - (encoder + decoder) // 2
    assert small(share_layers=True, num_layers=7).count_params() == plain - (encoder + decoder) // 2
    assert small(decoder_num_layers=1).count_params() == plain - decoder // 2
    # Two vocabularies of 13 rows, as wide as their side; the memory is projected where it is attended to.
    wide = small(decoder_hidden_dim=18)
    shapes = {weight.path.split("transformer/")[-1]: tuple(weight.shape) for weight in wide.weights}
    assert shapes["source_embedding/table"] == (13, 12) and shapes["target_embedding/table"] == (13, 18)
    assert shapes["decoder/block_0/cross_attention/attention/key_kernel"] == (12, 18)
    assert shapes["decoder/block_0/cross_attention/attention/query_kernel"] == (18, 18)


def test_deep_norm_knows_both_depths() -> None:
    model = small(norm="deep", num_layers=16, decoder_num_layers=1)
    # 16^4 * 1 is 2^16, whose 16th root is 2: 0.81 * 2; and (3 * 1)^(1/4).
    assert model.encoder.settings.residual_scale == pytest.approx(1.62)
    assert model.decoder.settings.residual_scale == pytest.approx(3**0.25)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_key_value_heads": 2}, r"`num_key_value_heads` must divide `num_heads`\. Received: .*=2, .*=3"),
        ({"num_key_value_heads": 0}, r"`num_key_value_heads` must be at least 1\. Received: 0"),
        (
            {"positions": "rotary", "hidden_dim": 9},
            r"Rotary positions need an even width of a head .*Received: 3",
        ),
        ({"positions": "relative", "max_distance": 0}, r"`max_distance` must be at least 1\. Received: 0"),
        ({"norm_kind": "batch"}, r"`norm_kind` must be one of 'layer', 'rms'\. Received: norm_kind='batch'"),
        (
            {"decoder_hidden_dim": 6, "tie_embeddings": "all"},
            r"'output' or 'none' where the widths differ\. Received: .*hidden_dim=12, decoder_hidden_dim=6",
        ),
        ({"decoder_num_layers": 1.5}, r"`decoder_num_layers` must be a whole number, at least 1"),
        ({"decoder_num_heads": 5}, r"must be divisible by `num_heads`.*hidden_dim=12, num_heads=5"),
        ({"num_layer": 2}, r"num_layer"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        small(**settings)
