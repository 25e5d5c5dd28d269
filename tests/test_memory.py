"""What memory is left, by the files that say so, and how much a piece of work takes."""

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf

from tf_transformer import memory
from tf_transformer.memory import GpuMemory, ProcessMemory, device_memory, in_gib, room_left

GIB = 2**30
V1 = {
    "memory.limit_in_bytes": "{limit}\n",
    "memory.usage_in_bytes": "{usage}\n",
    "memory.stat": "cache 99\ninactive_file 77\ntotal_inactive_file {cache}\n",
}
V2 = {
    "memory.max": "{limit}\n",
    "memory.current": "{usage}\n",
    "memory.stat": "anon 99\ninactive_file {cache}\n",
}


def system(folder: Path, groups: str, limits: dict[str, tuple[dict[str, str], Any, int, int]]) -> Path:
    """A file system that tells of 8 GiB left, and of control groups: limit, usage, cache by folder."""
    (folder / "proc" / "self").mkdir(parents=True)
    (folder / "proc" / "meminfo").write_text(
        f"MemTotal:       99999999 kB\nMemFree:            1000 kB\nMemAvailable:   {8 * 2**20} kB\n"
    )
    (folder / "proc" / "self" / "cgroup").write_text(groups)
    for place, (files, limit, usage, cache) in limits.items():
        group = folder / "sys" / "fs" / "cgroup" / place
        group.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (group / name).write_text(content.format(limit=limit, usage=usage, cache=cache))
    return folder


MACHINE, GROUP = "this machine has left", "its control group has left"
NO_LIMIT = 9223372036854771712


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("", {}, (8 * GIB, MACHINE)),
        ("0::/\n", {"": (V2, "max", GIB, 0)}, (8 * GIB, MACHINE)),
        # The cache of files gives way: 3 GiB less 2 in use, of which a half is cache.
        ("0::/\n", {"": (V2, 3 * GIB, 2 * GIB, GIB)}, (2 * GIB, GROUP)),
        ("0::/\n", {"": (V2, 30 * GIB, GIB, 0)}, (8 * GIB, MACHINE)),
        # The tightest of all groups around counts, not the innermost.
        (
            "0::/a/b\n",
            {"a/b": (V2, 7 * GIB, GIB, 0), "a": (V2, 5 * GIB, GIB, 0), "": (V2, "max", GIB, 0)},
            (4 * GIB, GROUP),
        ),
        # In a container the path is that of the host, and only the top is to be seen.
        ("0::/docker/123\n", {"": (V2, 2 * GIB, GIB, 0)}, (GIB, GROUP)),
        (
            "9:cpu,memory:/a\n2:cpuset:/\n0::/\n",
            {"memory/a": (V1, 4 * GIB, 3 * GIB, GIB), "memory": (V1, NO_LIMIT, 5 * GIB, 0)},
            (2 * GIB, GROUP),
        ),
        ("4:memory:/\n", {"memory": (V1, NO_LIMIT, 5 * GIB, 0)}, (8 * GIB, MACHINE)),
        ("0::/\n", {"": (V2, GIB, 2 * GIB, 0)}, (0, GROUP)),
    ],
)
def test_what_is_left_is_what_the_machine_and_its_groups_leave(
    tmp_path: Path, groups: str, limits: Any, expected: tuple[int, str]
) -> None:
    assert room_left(system(tmp_path, groups, limits)) == expected


def test_where_nobody_says_what_is_left_it_is_half_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PHYS_PAGES": 6, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert room_left(tmp_path) == (12288, MACHINE)


def test_a_process_may_take_a_share_of_what_is_left() -> None:
    process = ProcessMemory((10 * GIB, "a test leaves"))
    assert process.limit == 7 * GIB
    assert process.of == "70% of the 10.0 GiB that a test leaves"


class Meters:
    """What the system and TensorFlow say, set by a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, counted: bool) -> None:
        self.resident, self.tensors = 1000, 10
        self.counted = counted
        monkeypatch.setattr(memory, "_resident", lambda which: self.resident)
        monkeypatch.setattr(tf.config.experimental, "get_memory_info", self.info)
        monkeypatch.setattr(tf.config.experimental, "reset_memory_stats", self.info)

    def info(self, device: str) -> dict[str, int]:
        if not self.counted:
            raise ValueError(f"Allocator stats not available for device '{device}'")
        return {"current": self.tensors, "peak": self.tensors}

    def work(self, resident: int, tensors: int) -> Any:
        def done() -> None:
            self.resident, self.tensors = resident, tensors

        return done


def test_tensors_are_counted_and_the_rest_is_seen_at_the_first_work(monkeypatch: pytest.MonkeyPatch) -> None:
    meters = Meters(monkeypatch, counted=True)
    process = ProcessMemory((10 * GIB, "a test leaves"))
    assert process.peak(meters.work(1300, 210)) == 300  # 200 of tensors, 100 of a graph
    assert process.peak(meters.work(9000, 410)) == 500  # that TensorFlow keeps the rest says nothing
    assert process.peak(meters.work(9000, 110)) == 200


def test_where_tensors_are_not_counted_the_process_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    meters = Meters(monkeypatch, counted=False)
    process = ProcessMemory((10 * GIB, "a test leaves"))
    assert process.peak(meters.work(1300, 210)) == 300
    assert process.peak(meters.work(900, 210)) == 0


def test_the_peak_of_real_work() -> None:
    process = ProcessMemory((10 * GIB, "a test leaves"))
    process.peak(lambda: tf.zeros([1]))
    small = process.peak(lambda: tf.zeros([1]))
    large = process.peak(lambda: float(tf.reduce_sum(tf.ones([96 * 2**20], tf.int8))))
    assert 80 * 2**20 < large - small < 160 * 2**20  # allocators round up


def test_without_the_files_of_linux_the_system_tells_the_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "Path", lambda name: Path("/nowhere"))
    monkeypatch.setattr(memory.resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=3))
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    assert memory._resident("VmHWM") == 3
    monkeypatch.setattr(memory.sys, "platform", "freebsd14")
    assert memory._resident("VmHWM") == 3072


def test_on_a_gpu_the_peak_is_what_tensorflow_gave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    in_use = {"peak": 0}

    def reset(device: str) -> None:
        assert device == "GPU:0"
        in_use["peak"] = 5

    monkeypatch.setattr(tf.config.experimental, "reset_memory_stats", reset)
    monkeypatch.setattr(tf.config.experimental, "get_memory_info", lambda device: dict(in_use))
    gpu = GpuMemory("GPU:0", 40 * GIB)
    assert gpu.limit == 34 * GIB and gpu.of == "85% of the 40.0 GiB of this GPU"
    assert gpu.peak(lambda: in_use.update(peak=23)) == 23
    assert gpu.peak(lambda: None) == 5


def test_the_first_gpu_is_asked_or_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, *gpus = (
        SimpleNamespace(device_type=kind, name=f"/device:{kind}:{number}", memory_limit=size)
        for kind, number, size in (("CPU", 0, 1), ("GPU", 0, 20 * GIB), ("GPU", 1, 10 * GIB))
    )
    listed = [cpu, *gpus]
    monkeypatch.setattr(memory.device_lib, "list_local_devices", lambda: listed)
    found = device_memory()
    assert isinstance(found, GpuMemory)
    assert (found.device, found.limit) == ("GPU:0", 17 * GIB)
    del listed[1:]
    assert isinstance(device_memory(), ProcessMemory)


def test_tensorflow_says_how_much_a_device_may_give_out() -> None:
    devices = memory.device_lib.list_local_devices()
    assert devices[0].device_type == "CPU" and devices[0].memory_limit > 0


def test_sizes_for_people() -> None:
    assert [in_gib(size) for size in (0, GIB * 3 // 2, 141 * GIB)] == ["0.0 GiB", "1.5 GiB", "141.0 GiB"]


def test_what_is_freed_between_what_is_kept_is_given_back() -> None:
    blocks = [bytes(1000) for _ in range(100_000)]
    kept = blocks[::100]
    del blocks
    before = memory.process_size()
    memory.give_back()
    least = 60e6 if hasattr(ctypes.CDLL(None), "malloc_trim") else -1e6
    assert before - memory.process_size() > least and len(kept) == 1000


def test_nothing_is_given_back_where_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: SimpleNamespace())
    memory.give_back()
