"""The doctor: what is right and wrong with precisions, what to set, and a machine read from files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tf_transformer.cli import main
from tf_transformer.diagnosis import doctor, machine, precisions
from tf_transformer.diagnosis.doctor import Diagnosis, apart, settings, trial_faults
from tf_transformer.diagnosis.machine import Gpu, Machine
from tf_transformer.diagnosis.precisions import Size, Trial, try_precisions
from tf_transformer.precision import PrecisionChoice

TINY = Size(vocabulary=30, layers=1, width=8, heads=2, rows=3, length=5)
FULL = Trial("float32", [7.0, 6.0, 5.0], 0, 100.0, 50.0, 100.0, 1 << 20, 2.0)
HALF = replace(FULL, policy="mixed_bfloat16", losses=[7.001, 6.002, 4.99], tokens_per_second=150.0)
LOW = replace(FULL, policy="mixed_float16", skipped=3, tokens_per_second=190.0)
MACHINE = Machine("A CPU", 4, None, None, (8 << 30, "this machine has left"), (), False, None)
GPU = Gpu("A GPU", "9.0", 80 << 30)
CHOSEN = PrecisionChoice("mixed_bfloat16", "why")


@pytest.mark.slow
def test_precisions_take_the_same_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precisions, "measured_peak", lambda policy: 1e15)
    full, half = try_precisions(TINY, ("float32", "mixed_float16"), 7)
    assert len(full.losses) == len(half.losses) == 7
    assert 0 < apart(half, full) < 0.01
    assert full.skipped == 0 and full.tokens_per_second > 0 and 0 < full.share_of_peak < 1


def test_a_precision_that_is_right_has_no_fault() -> None:
    assert [trial_faults(trial, FULL, 3) for trial in (FULL, HALF, LOW)] == [[], [], []]


@pytest.mark.parametrize(
    ("trial", "fault"),
    [
        (replace(HALF, losses=[7.0, 6.03, 5.0]), "mixed_bfloat16: a loss is 0.0300 apart from"),
        (replace(HALF, losses=[7.0, float("nan"), 5.0]), "mixed_bfloat16: a loss is not finite"),
        (replace(LOW, skipped=11), "mixed_float16: 11 updates had to be skipped before 3 were taken"),
        (replace(LOW, losses=[7.0], skipped=4), "mixed_float16: 4 updates had to be skipped before"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_one_is_told(trial: Trial, fault: str) -> None:
    (line,) = trial_faults(trial, FULL, 3)
    assert line.startswith(fault)


def test_float32_itself_must_learn() -> None:
    still = replace(FULL, losses=[7.0, 6.9, 6.8])
    assert trial_faults(still, still, 3)[0].startswith(
        "float32: the loss went from 7.000 to 6.800, and falls"
    )


def test_what_to_set() -> None:
    def values(here: Machine, *right: Trial) -> dict[str, str]:
        return {one.name: one.value for one in settings(here, right, CHOSEN)}

    assert values(MACHINE, FULL, HALF, LOW) == {"training.precision": "auto", "training.devices": "auto"}
    # Of float16 only where there is a GPU, and where it is faster than bfloat16; here 190 to 150.
    on_gpu = values(replace(MACHINE, gpus=(GPU,)), FULL, HALF, LOW)
    assert on_gpu["training.precision"] == "mixed_float16"
    assert values(MACHINE, FULL)["training.precision"] == "float32"
    slow = replace(HALF, tokens_per_second=110.0)
    assert values(MACHINE, FULL, slow)["training.precision"] == "float32"
    assert values(replace(MACHINE, quota=1.5), FULL)["TF_NUM_INTRAOP_THREADS"] == "2"
    assert values(replace(MACHINE, threads=8), FULL)["TF_NUM_INTRAOP_THREADS"] == "4"
    assert "TF_NUM_INTRAOP_THREADS" not in values(replace(MACHINE, threads=4, quota=9.0), FULL)


def test_a_driver_without_a_gpu_is_a_fault() -> None:
    assert MACHINE.faults() == replace(MACHINE, has_driver=True, gpus=(GPU,)).faults() == []
    (line,) = replace(MACHINE, has_driver=True).faults()
    assert line.startswith(
        "there is an NVIDIA driver, and TensorFlow, which is built without CUDA, sees no GPU"
    )


def test_a_machine_is_read_from_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Some   CPU\n",
        "proc/meminfo": "MemAvailable:       1024 kB\n",
        "sys/fs/cgroup/cpu.max": "150000 100000\n",
        "proc/driver/nvidia/version": "1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setenv(machine.THREADS, "3")
    found = machine.this_machine(tmp_path)
    assert (found.processor, found.quota, found.threads, found.has_driver) == ("Some CPU", 1.5, 3, True)
    assert found.room[0] == 1 << 20 and found.best_threads == min(found.cores, 2)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("max 100000\n")
    monkeypatch.delenv(machine.THREADS)
    found = machine.this_machine(tmp_path)
    assert found.quota is None and found.threads is None


@pytest.mark.parametrize("wrong", [[], ["float32: a loss is not finite"]])
def test_the_page_and_the_exit_code(
    wrong: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Diagnosis(
        {"tensorflow": "2", "keras": "3"},
        replace(MACHINE, gpus=(GPU,)),
        TINY,
        [FULL, HALF, LOW],
        CHOSEN,
        settings(MACHINE, [FULL, HALF], CHOSEN),
        wrong,
    )
    monkeypatch.setattr(doctor, "diagnose", lambda **_: found)
    assert main(["doctor"]) == bool(wrong)
    page = capsys.readouterr().out.split("\n")
    assert "versions   tensorflow 2 · keras 3" in page
    assert "GPU 0      A GPU, compute capability 9.0, 80.0 GiB" in page
    cells = [line.split() for line in page if line.startswith("mixed_bfloat16")]
    assert cells == [["mixed_bfloat16", "4.9900", "0.0100", "0", "150", "50", "50%", "1", "MiB", "2.0", "s"]]
    assert page[-2] == ("wrong: float32: a loss is not finite" if wrong else
                        "right: this machine trains in every precision as in float32")  # fmt: skip
    assert main(["doctor", "--json"]) == bool(wrong)
    values = json.loads(capsys.readouterr().out)
    assert values["wrong"] == wrong and values["tolerance"] == 0.02
    assert [round(trial["apart"], 6) for trial in values["trials"]] == [0.0, 0.01, 0.0]
    assert values["trials"][0]["share_of_peak"] == 0.5
