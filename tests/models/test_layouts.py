"""Data and model parallel training on Keras' JAX backend is that of one device."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from tf_transformer.layers import Encoder, TextEmbedding
from tf_transformer.models import Classifier, LanguageModel, Transformer, layout_map

ROOT = Path(__file__).parents[2]
FLAGS = "--xla_force_host_platform_device_count=4 --xla_backend_optimization_level=0"
WITHOUT_TENSORFLOW = """
import runpy, sys
sys.modules["tensorflow"] = None
runpy.run_path(sys.argv[1], run_name="__main__")
"""
WHOLE = (
    r".*(norm/(gamma|beta)|attention/output_bias|network/output_bias|positions/\w*table|head/(kernel|bias))"
)
"""What is on all devices: too little to split, or needed behind their sum."""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the laboratory has found."""
    jax = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": FLAGS, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW, str(ROOT / "tests/layout_lab.py")],
        env={**os.environ, **jax},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", ["data", "both"])
def test_several_devices_have_the_losses_of_one(found: dict[str, Any], name: str) -> None:
    losses = np.array(found["one"]["losses"])
    assert len(losses) == 6 and losses[-1] < 0.7 * losses[0]
    np.testing.assert_allclose(found[name]["losses"], losses, rtol=1e-5)


@pytest.mark.parametrize(("name", "devices"), [("one", 1), ("data", 1), ("both", 2)])
def test_each_device_has_its_part_of_weights_and_moments(
    found: dict[str, Any], name: str, devices: int
) -> None:
    attention, network, norm = 4 * (8 * 8 + 8), 3 * 8 * 12 + 2 * 12 + 8, 2 * 8
    total = 3 * attention + 2 * network + 5 * norm + 16 * 8
    whole = 5 * 8 + 5 * norm  # the biases of three attentions' and two networks' outputs, and the norms
    part = ((total - whole) / devices + whole) / total
    assert found[name]["weights"] == pytest.approx(part)
    assert found[name]["moments"] == pytest.approx(part)


@pytest.fixture(scope="module")
def mesh() -> keras.distribution.DeviceMesh:
    return keras.distribution.DeviceMesh((1, 1), ("batch", "model"), np.array(["cpu:0"]))


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if that were the backend, where layouts are only looked at."""
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")


@pytest.fixture(scope="module")
def paths() -> list[str]:
    """The trained weights of one model of each kind."""
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 12, "num_heads": 4}
    encoder = Encoder(1, 4, 12, activation="swiglu", positions="relative", name="encoder")
    models = [
        Transformer(16, positions="learned", max_length=7, tie_embeddings="none", **sizes),
        Classifier(3, TextEmbedding(16, 8, name="embedding"), encoder),
        LanguageModel(16, norm="pre", **sizes),
    ]
    return [weight.path for model in models for weight in model.trainable_variables]


@pytest.mark.usefixtures("jax")
def test_all_that_is_wide_is_split_in_every_model(
    mesh: keras.distribution.DeviceMesh, paths: list[str]
) -> None:
    layouts = layout_map(mesh)
    whole = [path for path in paths if layouts[path] is None]
    assert [path for path in whole if not re.fullmatch(WHOLE, path)] == []
    assert [layouts[path] for path in paths if re.fullmatch(WHOLE, path)] == [None] * len(whole)
    network = "transformer/encoder/block_0/feed_forward/network"
    parts = ("inner_kernel", "inner_bias", "output_kernel")
    axes = [layouts[f"{network}/{part}"].axes for part in parts]
    assert axes == [(None, "model"), ("model",), ("model", None)]


@pytest.mark.usefixtures("jax")
def test_tables_can_stay_whole(mesh: keras.distribution.DeviceMesh, paths: list[str]) -> None:
    every, few = layout_map(mesh), layout_map(mesh, split_tables=False)
    assert [path for path in paths if every[path] is not None and few[path] is None] == [
        "transformer/source_embedding/table",
        "transformer/target_embedding/table",
        "transformer/output_embedding/table",
        "classifier/embedding/token_embedding/table",
        "language_model/embedding/table",
    ]


def test_a_backend_that_splits_nothing_is_refused(mesh: keras.distribution.DeviceMesh) -> None:
    with pytest.raises(RuntimeError, match=r"KERAS_BACKEND=jax\)\. Received: tensorflow$"):
        layout_map(mesh)


@pytest.mark.usefixtures("jax")
def test_the_axis_is_one_of_the_mesh(mesh: keras.distribution.DeviceMesh) -> None:
    with pytest.raises(ValueError, match=r"`axis` must be one of .*, batch, model\. Received: axis='width'$"):
        layout_map(mesh, "width")
