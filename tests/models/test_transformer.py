"""The Transformer from outside: sizes, inputs, masks, training, saving."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tf_transformer.losses import MaskedCrossEntropy, smoothed_cross_entropy
from tf_transformer.models import Transformer
from tf_transformer.presets import MODEL_PRESETS

SIZES: dict[str, Any] = {"num_layers": 2, "hidden_dim": 6, "intermediate_dim": 11, "num_heads": 3}
RNG = np.random.default_rng(3)
SOURCE = RNG.integers(1, 13, (2, 7)).astype("int32")
TARGET = RNG.integers(1, 13, (2, 5)).astype("int32")
INPUTS = {"source_ids": SOURCE, "target_ids": TARGET}


def small(**settings: Any) -> Transformer:
    return Transformer(**{"vocabulary_size": 13, "seed": 7, **SIZES, **settings})


def count(vocabulary_size: int, num_layers: int, hidden_dim: int, intermediate_dim: int, **_: int) -> int:
    """Parameters by hand: tables and matrices with their biases, norms with scale and shift."""
    attention = 4 * (hidden_dim * hidden_dim + hidden_dim)
    network = hidden_dim * intermediate_dim + intermediate_dim + intermediate_dim * hidden_dim + hidden_dim
    norm = 2 * hidden_dim
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    return vocabulary_size * hidden_dim + num_layers * (encoder + decoder)


@pytest.mark.parametrize(("preset", "parameters"), [("tiny", 2_349_056), ("small", 13_107_200)])
def test_parameters_of_the_small_presets(preset: str, parameters: int) -> None:
    assert count(8000, **MODEL_PRESETS[preset]) == parameters  # type: ignore[arg-type]
    assert Transformer(8000, **MODEL_PRESETS[preset]).count_params() == parameters


@pytest.mark.parametrize(
    ("preset", "parameters", "paper"), [("base", 63_082_496, 65e6), ("big", 214_245_376, 213e6)]
)
def test_parameters_of_the_paper(preset: str, parameters: int, paper: float) -> None:
    # base, by hand, D = 512: an attention has 4 (512^2 + 512) = 1 050 624 parameters, a network
    # 2 * 512 * 2048 + 2048 + 512 = 2 099 712, a norm 1024; so all in all
    # 37 000 * 512 + 6 (3 * 1 050 624 + 2 * 2 099 712 + 5 * 1024) = 63 082 496.
    sizes = MODEL_PRESETS[preset]
    assert count(37_000, **sizes) == parameters  # type: ignore[arg-type]
    assert parameters == pytest.approx(paper, rel=0.04)
    # Making all of a big model takes seconds; one layer and a small vocabulary show that the formula holds.
    thin: Any = {**sizes, "num_layers": 1}
    assert Transformer(37, **thin).count_params() == count(37, **thin)


def test_parameters_that_options_add() -> None:
    plain = small().count_params()
    assert small(norm="pre").count_params() == plain + 2 * 2 * 6  # a final norm on either side
    assert small(positions="learned", max_length=17).count_params() == plain + 2 * 17 * 6
    assert small(activation="swiglu").count_params() == plain + 2 * 2 * (6 * 11 + 11)
    assert small(tie_embeddings="output").count_params() == plain + 13 * 6
    assert small(tie_embeddings="none").count_params() == plain + 2 * 13 * 6
    two = {"vocabulary_size": None, "source_vocabulary_size": 17, "target_vocabulary_size": 19}
    model = small(**two)
    assert model.count_params() == plain + (17 + 19 - 13) * 6
    assert tuple(model(INPUTS).shape) == (2, 5, 19)


def test_paths_are_unique_and_the_same_for_every_instance() -> None:
    first, second = ([variable.path for variable in small(tie_embeddings="none").variables] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)
    assert "transformer/decoder/block_1/cross_attention/attention/key_kernel" in first
    assert "transformer/encoder/block_0/feed_forward/dropout/seed_generator/seed_generator_state" in first


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_neither_the_future_nor_padding_reaches_a_token(norm: str) -> None:
    model = small(norm=norm)
    plain = np.asarray(model(INPUTS))
    future = np.where(np.arange(5) < 3, TARGET, 13 - TARGET)
    np.testing.assert_array_equal(model({**INPUTS, "target_ids": future})[:, :3], plain[:, :3])
    padded = {name: np.pad(ids, ((0, 0), (0, 4))) for name, ids in INPUTS.items()}
    np.testing.assert_allclose(model(padded)[:, :5], plain, atol=1e-5)
    assert np.abs(np.asarray(model({**INPUTS, "source_ids": SOURCE[:, ::-1]})) - plain).max() > 1e-3


def test_the_future_does_not_reach_a_token_under_dropout() -> None:
    future = np.where(np.arange(5) < 3, TARGET, 13 - TARGET)
    # Models of one seed draw the same random numbers.
    first, second = (small(dropout=0.5, attention_dropout=0.5, activation_dropout=0.5) for _ in range(2))
    before, after = first(INPUTS, training=True), second({**INPUTS, "target_ids": future}, training=True)
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert np.any(np.asarray(before[:, 3:] != after[:, 3:]))
    assert np.abs(np.asarray(first(INPUTS) - before)).max() > 1e-3


def test_large_ids_pass_mixed_float16_whole() -> None:
    # float16 cannot hold 2909: through such a cast it would become 2908.
    model = small(vocabulary_size=3000, dtype="mixed_float16")
    odd, even = (np.asarray(model.encode(np.array([[number, 3]]))["states"]) for number in (2909, 2908))
    assert np.abs(odd[0, 0] - even[0, 0]).max() > 0.1
    ids = {"source_ids": np.array([[2909, 3]], "float32"), "target_ids": TARGET[:1]}
    with pytest.raises(TypeError, match=r"Token ids must be integers.*Received: ids of dtype float"):
        model(ids)


def test_attention_of_every_block() -> None:
    model = small(dropout=0.5, attention_dropout=0.5)
    source = np.where(np.arange(7) < [[7], [4]], SOURCE, 0)
    weights = model.attention({"source_ids": source, "target_ids": TARGET})
    shapes = {kind: [tuple(block.shape) for block in blocks] for kind, blocks in weights.items()}
    assert shapes == {
        "encoder": [(2, 3, 7, 7)] * 2,
        "decoder": [(2, 3, 5, 5)] * 2,
        "cross": [(2, 3, 5, 7)] * 2,
    }
    for block in (block for blocks in weights.values() for block in blocks):
        np.testing.assert_allclose(ops.sum(block, axis=-1), np.ones(block.shape[:-1]), rtol=1e-5)
    assert np.all(np.asarray(weights["cross"][1])[1, :, :, 4:] == 0)
    assert np.all(np.triu(np.asarray(weights["decoder"][0]), 1) == 0)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_and_sentences_of_padding_alone(policy: str) -> None:
    model = small(dtype=policy, norm="pre")
    reference = small(norm="pre")
    logits = model(INPUTS)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    np.testing.assert_allclose(logits, reference(INPUTS), atol=0.1)
    empty = model({"source_ids": 0 * SOURCE, "target_ids": 0 * TARGET})
    assert np.all(np.isfinite(np.asarray(empty)))


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"must be divisible by `num_heads`.*hidden_dim=6, num_heads=4"):
        small(num_heads=4)
    with pytest.raises(
        ValueError, match=r"Give either `vocabulary_size`, or both .*source_vocabulary_size=5"
    ):
        small(source_vocabulary_size=5)
    with pytest.raises(ValueError, match=r"one table needs one `vocabulary_size`.*tie_embeddings='all'"):
        small(
            vocabulary_size=None,
            source_vocabulary_size=17,
            target_vocabulary_size=19,
            tie_embeddings="all",
        )
    with pytest.raises(ValueError, match=r"`tie_embeddings` must be one of .*tie_embeddings='some'"):
        small(tie_embeddings="some")
    with pytest.raises(ValueError, match=r"need the argument `max_length`"):
        small(positions="learned")
    with pytest.raises(
        ValueError, match=r"dict with `source_ids` and `target_ids`. Received: \['source_ids'\]"
    ):
        small()({"source_ids": SOURCE})
    with pytest.raises(TypeError, match=r"Token ids must be integers"):
        small()({**INPUTS, "target_ids": TARGET.astype("float32")})
    with pytest.raises(ValueError, match=r"length=7, max_length=6"):
        small(positions="learned", max_length=6)(INPUTS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(
            ({name: wrong}, rf"`{name}` must be .*at least 1\. Received: ")
            for name in ("num_layers", "hidden_dim", "intermediate_dim", "num_heads", "vocabulary_size")
            for wrong in (0, 6.0, "6", True)
        ),
        *(({name: None}, rf"`{name}` must be a whole number") for name in ("num_layers", "hidden_dim")),
        ({"max_length": 1.5}, r"`max_length` must be a whole number, at least 1\. Received: 1\.5"),
        ({"positions": "none "}, r"`positions` must be one of 'sinusoidal', .*'learned', .*'none'"),
        ({"epsilon": None}, r"`epsilon` must be a finite number, at least 0\. Received: None"),
        ({"epsilon": float("nan")}, r"`epsilon` must be a finite number, at least 0\. Received: nan"),
        ({"seed": 1.5}, r"`seed` must be a whole number, at least 0\. Received: 1\.5"),
        ({"seed": -1}, r"`seed` must be at least 0\. Received: -1"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        small(**settings)


def test_sizes_of_numpy_become_plain() -> None:
    model = small(**{name: np.int64(size) for name, size in {**SIZES, "vocabulary_size": 13}.items()})
    assert json.loads(json.dumps(model.get_config()))["vocabulary_size"] == 13


@pytest.mark.parametrize("side", ["source_ids", "target_ids"])
@pytest.mark.parametrize("wrong", [-1, 13])
def test_ids_outside_the_vocabulary_are_refused(side: str, wrong: int) -> None:
    inputs = {**INPUTS, side: INPUTS[side].copy()}
    inputs[side][1, 2] = wrong
    model = small(num_layers=1)
    message = rf"`{side}` must be whole numbers, at least 0 and below .* vocabulary, 13\. Received: {wrong}"
    for take in (model, model.attention):
        with pytest.raises(ValueError, match=message):
            take(inputs)
    if side == "target_ids":
        cache = model.start_cache(model.encode(SOURCE))
        with pytest.raises(ValueError, match=message.replace("target_ids", "ids")):
            model.step(inputs[side][:, 2:3], cache)


@pytest.mark.parametrize(("num_sources", "num_targets"), [(1, 2), (2, 1)])
def test_a_single_sentence_is_not_paired_with_all(num_sources: int, num_targets: int) -> None:
    inputs = {"source_ids": SOURCE[:num_sources], "target_ids": TARGET[:num_targets]}
    message = (
        rf"batches of sources and targets must have .*Received: \({num_sources},\) and \({num_targets},\)"
    )
    model = small(num_layers=1)
    with pytest.raises(ValueError, match=message):
        model(inputs)
    symbolic = {name: keras.Input(batch_shape=ids.shape, dtype="int32") for name, ids in inputs.items()}
    with pytest.raises(ValueError, match=message):  # in a graph too, where the sizes are known
        model(symbolic)


def test_ids_have_two_axes() -> None:
    model = small(num_layers=1)
    for shape in ((3,), (1, 3, 1)):
        with pytest.raises(ValueError, match=r"`source_ids` must have two axes.*Received: shape \("):
            model.encode(np.ones(shape, "int32"))
    with pytest.raises(ValueError, match=r"`source_ids` must have two axes.*Received: ragged rows"):
        model.encode(tf.ragged.constant([[5, 7, 3], [3]]))
    np.testing.assert_array_equal(model.encode([[5, 3]])["mask"], [[[[True, True]]]])


# There each operation is compiled: quickly, then.
JAX = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_backend_optimization_level=0"}
# Blocks TensorFlow, so it shows that neither the model nor its file needs it.
LOAD_WITHOUT_TENSORFLOW = """
import sys
sys.modules["tensorflow"] = None
import keras, numpy as np
from tf_transformer.models import Transformer
model = keras.saving.load_model(sys.argv[1])
arrays = np.load(sys.argv[2])
inputs = {name: arrays[name] for name in ("source_ids", "target_ids")}
np.testing.assert_allclose(model(inputs), arrays["logits"], atol=1e-4)
memory = model.encode(inputs["source_ids"])
cache = model.start_cache(memory, num_hypotheses=1)
for position in range(2):  # each length is compiled anew here
    step, cache = model.step(inputs["target_ids"][:, position : position + 1], cache)
    np.testing.assert_allclose(step[:, 0], arrays["logits"][:, position], atol=1e-4)
assert np.abs(np.asarray(model(inputs, training=True)) - arrays["logits"]).max() > 1e-3
print(keras.backend.backend(), model.count_params())
"""


def test_fit_save_and_load_in_a_process_without_tensorflow(tmp_path: Path) -> None:
    model = small(norm="pre", dropout=0.1, num_layers=1)
    model.compile(keras.optimizers.Adam(0.01), MaskedCrossEntropy(label_smoothing=0.1))
    history = model.fit(INPUTS, TARGET, epochs=20, verbose=0, shuffle=False).history["loss"]
    assert history[-1] < 0.8 * history[0]
    model.save(tmp_path / "m.keras")
    logits = np.asarray(model(INPUTS))
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(loaded(INPUTS), logits)
    assert loaded.get_config() == model.get_config()
    np.savez(tmp_path / "arrays.npz", logits=logits, **INPUTS)
    done = subprocess.run(
        [sys.executable, "-c", LOAD_WITHOUT_TENSORFLOW, tmp_path / "m.keras", tmp_path / "arrays.npz"],
        env={**os.environ, **JAX},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["jax", str(model.count_params())]


@pytest.mark.parametrize("tie_embeddings", ["all", "none"])
def test_the_training_loss_is_that_of_the_logits(tie_embeddings: str) -> None:
    model = small(dropout=0.0, tie_embeddings=tie_embeddings)
    labels = np.array([[5, 7, 3, 0, 0], [12, 4, 4, 9, 3]], "int32")
    expected = np.sum(smoothed_cross_entropy(labels, model(INPUTS), 0.1))
    for chunk in (None, 4):
        loss = model.training_loss(INPUTS, labels, 0.1, chunk=chunk)
        np.testing.assert_allclose(loss, expected, rtol=1e-6)


def test_r_drop_compares_two_dropouts_of_one_batch() -> None:
    labels = np.array([[5, 7, 3, 0, 0], [12, 4, 4, 9, 3]], "int32")
    ours, other = (small(dropout=0.3, seed=5) for _ in range(2))
    twice = {name: np.concatenate([ids, ids]) for name, ids in INPUTS.items()}
    logits = ops.convert_to_numpy(other(twice, training=True))  # the same seeds draw the same dropouts
    first, second = (part - np.log(np.exp(part).sum(-1, keepdims=True)) for part in np.split(logits, 2))
    divergence = ((np.exp(first) - np.exp(second)) * (first - second)).sum(-1) / 2
    entropies = smoothed_cross_entropy(np.concatenate([labels] * 2), logits, 0.1)
    expected = np.sum((entropies[:2] + entropies[2:]) / 2 + 5 / 2 * divergence * (labels != 0))
    loss = ours.training_loss(INPUTS, labels, 0.1, training=True, r_drop=5.0)
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    assert divergence.min() > 0.01
    # Passes that agree: nothing is added.
    plain = ours.training_loss(INPUTS, labels, 0.1)
    np.testing.assert_allclose(ours.training_loss(INPUTS, labels, 0.1, r_drop=5.0), plain, rtol=1e-6)


def test_counts_of_a_batch_by_hand() -> None:
    labels = np.array([[5, 7, 3, 0, 0], [12, 4, 4, 9, 3]], "int32")
    counts = {name: int(number) for name, number in small().counts(INPUTS, labels).items()}
    real = sum(int(id != 0) for row in INPUTS["source_ids"].tolist() for id in row)
    assert counts == {
        "target_tokens": 8,
        "source_tokens": real,
        "target_positions": 10,
        "source_positions": INPUTS["source_ids"].size,
    }
    assert tuple(counts) == Transformer.COUNTS
