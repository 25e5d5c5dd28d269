"""What every public layer owes its users, checked of each of them by one helper."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer import layers

RNG = np.random.default_rng(5)
IDS = RNG.integers(1, 13, (2, 5)).astype("int32")
STATES = RNG.normal(size=(2, 5, 6)).astype("float32")
PIXELS = RNG.integers(0, 256, (2, 4, 6, 3)).astype("uint8")
MEMORY = RNG.normal(size=(2, 7, 6)).astype("float32")
BLOCK: dict[str, Any] = {
    "num_heads": 3,
    "intermediate_dim": 11,
    "dropout": 0.1,
    "attention_dropout": 0.2,
    "activation_dropout": 0.3,
    "activation": "gelu",
    "norm": "pre",
    "epsilon": 1e-4,
    "residual_scale": 1.5,
    "initial_gain": 0.7,
    "seed": 17,
}

# name -> the layer, and what it is called with
CASES: dict[str, tuple[Callable[..., keras.layers.Layer], list[np.ndarray]]] = {
    "TokenEmbedding": (
        lambda **kw: layers.TokenEmbedding(13, hidden_dim=6, scale=False, deviation=0.5, seed=3, **kw),
        [IDS],
    ),
    "PositionalEncoding": (
        lambda **kw: layers.PositionalEncoding("learned", max_length=19, dropout=0.1, seed=3, **kw),
        [STATES],
    ),
    "MultiHeadAttention": (
        lambda **kw: layers.MultiHeadAttention(
            2, key_dim=5, value_dim=7, output_dim=11, dropout=0.1, use_bias=False, seed=3, **kw
        ),
        [STATES, MEMORY],
    ),
    "FeedForward": (
        lambda **kw: layers.FeedForward(
            11, output_dim=7, activation="swiglu", dropout=0.1, use_bias=False, seed=3, **kw
        ),
        [STATES],
    ),
    "TextEmbedding": (
        lambda **kw: layers.TextEmbedding(
            13,
            hidden_dim=6,
            embedding_dim=4,
            convolutions=[2, 3],
            filters=5,
            marked_ids=[5, 7],
            mark_distance=2,
            deviation=0.5,
            positions="learned",
            max_length=19,
            dropout=0.1,
            token_dropout=0.2,
            seed=3,
            **kw,
        ),
        [IDS],
    ),
    "ConvolutionalStem": (
        lambda **kw: layers.ConvolutionalStem([2, 3], filters=5, dropout=0.1, seed=3, **kw),
        [STATES],
    ),
    "Pooling": (lambda **kw: layers.Pooling("attention", seed=3, **kw), [STATES]),
    "AttentionPooling": (lambda **kw: layers.AttentionPooling(scoring_dim=5, seed=3, **kw), [STATES]),
    "Residual": (
        lambda **kw: layers.Residual(
            layers.MultiHeadAttention(3, seed=5, **kw), norm="pre", dropout=0.1, epsilon=1e-4, seed=3, **kw
        ),
        [STATES, MEMORY],
    ),
    "EncoderBlock": (lambda **kw: layers.EncoderBlock(**BLOCK, **kw), [STATES]),
    "DecoderBlock": (lambda **kw: layers.DecoderBlock(**BLOCK, **kw), [STATES, MEMORY]),
    "Encoder": (lambda **kw: layers.Encoder(2, **BLOCK, **kw), [STATES]),
    "Decoder": (lambda **kw: layers.Decoder(2, **BLOCK, **kw), [STATES, MEMORY]),
    "PatchEmbedding": (
        lambda **kw: layers.PatchEmbedding(
            6,
            patch_size=2,
            overlap=1,
            stem=[5, 7],
            class_token=True,
            mean=[0.4, 0.5, 0.6],
            deviation=0.3,
            dropout=0.1,
            seed=3,
            **kw,
        ),
        [PIXELS],
    ),
    "VectorEmbedding": (
        lambda **kw: layers.VectorEmbedding(
            10,
            mean=0.1,
            deviation=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            positions="learned",
            max_length=19,
            dropout=0.1,
            seed=3,
            **kw,
        ),
        [STATES],
    ),
    "Augmentation": (
        lambda **kw: layers.Augmentation(
            shift=0.1,
            rotate=10,
            zoom=0.1,
            stretch=0.1,
            shear=5,
            elastic=0.05,
            smoothness=0.2,
            flip="both",
            brightness=0.1,
            contrast=0.1,
            erase=0.2,
            outside="edge",
            seed=3,
            **kw,
        ),
        [PIXELS],
    ),
}


@keras.saving.register_keras_serializable("tests")
class Wrapper(keras.Model):
    """A user's subclassed model around one layer."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layer = layer

    def call(self, inputs: list[Any]) -> Any:
        return self.layer(*inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Wrapper":
        return cls(**{**config, "layer": keras.saving.deserialize_keras_object(config["layer"])})


def functional_model(layer: keras.layers.Layer, arrays: list[np.ndarray]) -> keras.Model:
    # Sequences may have any length; the size of pictures is known.
    shapes = [array.shape[1:] if array.ndim == 4 else (None, *array.shape[2:]) for array in arrays]
    inputs = [keras.Input(shape, dtype=array.dtype.name) for shape, array in zip(shapes, arrays, strict=True)]
    return keras.Model(inputs, layer(*inputs))


def check_config(layer: keras.layers.Layer) -> None:
    config = layer.get_config()
    explicit = {
        name
        for name, parameter in inspect.signature(type(layer).__init__).parameters.items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    }
    assert explicit <= set(config)
    assert json.loads(json.dumps(config)) == config
    assert type(layer).from_config(config).get_config() == config
    assert keras.saving.get_registered_name(type(layer)) == f"tf_transformer>{type(layer).__name__}"


def check_saving(model: keras.Model, arrays: list[np.ndarray], path: Path) -> None:
    expected = np.asarray(model(arrays))
    model.save(path)
    loaded = keras.saving.load_model(path)
    np.testing.assert_array_equal(np.asarray(loaded(arrays)), expected)
    names = [variable.path for variable in loaded.variables]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", layers.__all__)
def test_config_functional_subclassed_saved(name: str, tmp_path: Path) -> None:
    make, arrays = CASES[name]
    check_config(make(name="part"))
    functional = functional_model(make(), arrays)
    check_saving(functional, arrays, tmp_path / "functional.keras")
    subclassed = Wrapper(make())
    subclassed(arrays)
    subclassed.set_weights(functional.get_weights())
    check_saving(subclassed, arrays, tmp_path / "subclassed.keras")
    np.testing.assert_allclose(subclassed(arrays), functional(arrays), atol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("name", layers.__all__)
def test_mixed_precision(name: str, policy: str) -> None:
    make, arrays = CASES[name]
    layer, reference = make(dtype=policy), make()
    half = functional_model(layer, arrays)(arrays)
    reference(*arrays)
    assert half.dtype.name == policy.removeprefix("mixed_")
    assert {weight.dtype for weight in layer.weights if "seed" not in weight.path} <= {"float32"}
    reference.set_weights(layer.get_weights())
    np.testing.assert_allclose(tf.cast(half, "float32"), reference(*arrays), atol=0.1)


@pytest.mark.parametrize("name", layers.__all__)
def test_every_weight_learns_and_the_seed_reproduces(name: str) -> None:
    make, arrays = CASES[name]
    first, second = make(), make()
    training = {"training": True} if "training" in inspect.signature(first.call).parameters else {}
    with tf.GradientTape() as tape:
        outputs = first(*arrays, **training)
        loss = tf.reduce_sum(outputs * RNG.normal(size=outputs.shape).astype("float32"))
    assert all(gradient is not None for gradient in tape.gradient(loss, first.trainable_weights))
    np.testing.assert_array_equal(outputs, second(*arrays, **training))
