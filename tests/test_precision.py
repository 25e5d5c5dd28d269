"""The choice of a precision, on machines that are not here: their measurements are given."""

from typing import Any

import pytest
import tensorflow as tf

from tf_transformer import precision
from tf_transformer.precision import choose_precision


def with_gpus(monkeypatch: pytest.MonkeyPatch, *details: dict[str, Any]) -> None:
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: list(details))
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: gpu)


@pytest.mark.parametrize(
    ("half", "policy"), [(114.0, "float32"), (116.0, "mixed_bfloat16"), (20.0, "float32")]
)
def test_on_a_cpu_half_precision_must_be_worth_it(
    monkeypatch: pytest.MonkeyPatch, half: float, policy: str
) -> None:
    with_gpus(monkeypatch)
    monkeypatch.setattr(precision, "_gigaflops", lambda dtype: {"float32": 100.0, "bfloat16": half}[dtype])
    choice = choose_precision()
    assert choice.policy == policy
    assert choice.reason == f"matmul on this CPU: float32 100, bfloat16 {half:.0f} GFLOP/s"


@pytest.mark.parametrize(
    ("details", "policy", "reason"),
    [
        ({"compute_capability": (9, 0)}, "mixed_bfloat16", "GPU of compute capability 9.0"),
        ({"compute_capability": (8, 0)}, "mixed_bfloat16", "GPU of compute capability 8.0"),
        ({"compute_capability": (7, 5)}, "mixed_float16", "GPU of compute capability 7.5"),
        ({"compute_capability": (6, 1)}, "float32", "GPU of compute capability 6.1 has no tensor cores"),
        ({}, "float32", "GPU of unknown compute capability"),
    ],
)
def test_on_a_gpu_its_generation_decides(
    monkeypatch: pytest.MonkeyPatch, details: dict[str, Any], policy: str, reason: str
) -> None:
    with_gpus(monkeypatch, details, {"compute_capability": (1, 0)})  # the first one is trained on
    choice = choose_precision()
    assert (choice.policy, choice.reason) == (policy, reason)


def test_the_measurement_is_the_best_of_the_runs_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "ROWS", 5)
    monkeypatch.setattr(precision, "INNER", 3)
    monkeypatch.setattr(precision, "COLUMNS", 2)
    # Runs of 0.001, 2 and 1 seconds; the first one is not counted, so 2 * 5 * 3 * 2 operations take 1.
    ticks = iter([0.0, 0.001, 10.0, 12.0, 20.0, 21.0])
    monkeypatch.setattr(precision.time, "perf_counter", lambda: next(ticks))
    assert precision._gigaflops("bfloat16", repeats=2) == pytest.approx(60e-9)
