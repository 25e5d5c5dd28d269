"""Two devices train and answer as one does."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.devices import open_devices
from tf_transformer.errors import RunError

ROOT = Path(__file__).parents[1]


def laboratories(*configs: str) -> list[dict[str, Any]]:
    """What laboratories find that work at the same time, each with its ``TF_CONFIG``."""
    processes = [
        subprocess.Popen(
            [sys.executable, str(ROOT / "tests/replica_lab.py")],
            env=os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "TF_CONFIG": config},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for config in configs
    ]
    said = [process.communicate(timeout=900) for process in processes]
    for process, (_, errors) in zip(processes, said, strict=True):
        assert process.returncode == 0, errors[-4000:]
    return [json.loads(output.splitlines()[-1]) for output, _ in said]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the laboratory has found, with one device first in each pair."""
    return laboratories("{}")[0]


def test_two_hosts_are_one_device(found: dict[str, Any]) -> None:
    with socket.create_server(("localhost", 0)) as one, socket.create_server(("localhost", 0)) as other:
        hosts = [f"localhost:{server.getsockname()[1]}" for server in (one, other)]
    tasks = [{"type": "worker", "index": index} for index in range(2)]
    pair = laboratories(*(json.dumps({"cluster": {"worker": hosts}, "task": task}) for task in tasks))
    assert pair[0] == pair[1]
    assert pair[0]["described"] == "2 hosts with 1 CPU each"
    assert pair[0]["told"] == {"text": "ä", "number": 0.1} and pair[0]["copied"] == [1.0, 2.0]
    alone = found["idle"][0]
    for name in ("losses", "weights", "answering"):
        np.testing.assert_allclose(pair[0][name], alone[name], rtol=1e-4, atol=1e-5)


def test_the_loss_is_that_of_the_whole_update_not_of_one_device(found: dict[str, Any]) -> None:
    one, two = found["uneven"]
    np.testing.assert_allclose(two["losses"], one["losses"], rtol=1e-5)
    np.testing.assert_allclose(two["weights"], one["weights"], atol=1e-5)
    # The loss of the first device alone, which has the long rows, would be another one.
    assert one["interval"]["target_tokens"] == 3 * 18
    assert two["interval"] == pytest.approx(one["interval"], rel=1e-5)


@pytest.mark.parametrize("name", ["idle", "pieces"])
def test_a_batch_with_fewer_rows_than_devices(found: dict[str, Any], name: str) -> None:
    one, two = found[name]
    assert np.isfinite(two["losses"]).all() and len(two["losses"]) == 4
    np.testing.assert_allclose(two["losses"], one["losses"], rtol=1e-5)
    np.testing.assert_allclose(two["weights"], one["weights"], atol=1e-5)
    np.testing.assert_allclose(two["answering"], one["answering"], atol=1e-5)
    assert two["interval"]["target_tokens"] == 2 * (18 + 2)  # all five rows, twice


def test_loss_scales_and_skipped_updates(found: dict[str, Any]) -> None:
    one, two = found["scaled"]
    for each in (one, two):
        skipped = each["interval"]["skipped"]
        assert each["updates"] == each["interval"]["updates"] == 9 - skipped
        assert each["losses"].count(-1.0) == skipped >= 4  # three are of padding alone, and an overflow
        assert each["scale"] == 2.0 ** (127 - (skipped - 3))
    np.testing.assert_allclose(two["losses"], one["losses"], rtol=1e-5)
    np.testing.assert_allclose(two["weights"], one["weights"], atol=1e-5)


def test_each_device_draws_dropouts_of_its_own_and_equally_many(found: dict[str, Any]) -> None:
    two, (alone,) = found["seeds"]
    # Five rows in pieces of one: three on the first device, two on the other and one that is empty.
    assert alone[1] == 5
    assert [seed[1] for seed in two] == [3, 3]
    assert two[0][0] == alone[0] != two[1][0]


def test_evaluation_is_spread_and_comes_to_the_same(found: dict[str, Any]) -> None:
    one, two = found["evaluated"]
    assert one[0] == 3 * 7 + 2 + 9
    assert two == pytest.approx(one, rel=1e-5)
    assert found["mapped"][0] == found["mapped"][1] == [[0, 2, 4], [0], [0, 2, 4, 6], [], [0, 2]]


def test_translations_are_searched_for_on_all_devices(found: dict[str, Any]) -> None:
    one, two = found["searched"]
    assert one["on"] == [0] and two["on"] == [0, 1]
    for alone, spread in zip(one["answers"], two["answers"], strict=True):
        assert [text for text, _ in spread] == [text for text, _ in alone]
        np.testing.assert_allclose([score for _, score in spread], [score for _, score in alone], rtol=1e-5)
    texts = [[text for text, _ in hypotheses] for hypotheses in one["answers"]]
    assert texts[0][0].startswith("a") and texts[1] == ["", ""]


def test_devices_by_name(found: dict[str, Any]) -> None:
    assert found["described"] == ["2 CPUs", ""]


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        ("gpu:3", r"training\.devices: gpu:3: TensorFlow finds 0 GPUs on this machine"),
        ("cpu:3", r"training\.devices: cpu:3: devices are made when TensorFlow starts, and it has"),
    ],
)
def test_devices_that_cannot_be_had(wanted: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import tensorflow as tf

    monkeypatch.setattr(tf.config, "list_physical_devices", _without_gpus(tf.config.list_physical_devices))
    tf.zeros([])  # TensorFlow has started
    with pytest.raises(RunError, match=fault):
        open_devices(wanted)


def _without_gpus(listed: Any) -> Any:
    return lambda kind=None: [] if kind == "GPU" else listed(kind)
