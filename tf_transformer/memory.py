"""How much memory a training may take, of the GPU or of the machine, and how much a piece of work takes."""

import ctypes
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import tensorflow as tf
from tensorflow.python.client import device_lib

GPU_SHARE = 0.85
"""Of a GPU's memory: the rest is for its holes, and for validation, which decodes with another model."""
CPU_SHARE = 0.7
"""Of what the machine has left: beyond that is where the system kills processes, and others want some too."""
_GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Limit, usage and the key of the cache in ``memory.stat``, in the newer control groups and in the older."""


class Memory(Protocol):
    """What a search for the largest batch has to know of a device."""

    limit: int
    """Bytes that a training may take."""
    of: str
    """What that is a share of, for a person."""

    def peak(self, work: Callable[[], object]) -> int:
        """Does some work; the most bytes, of those that ``limit`` counts, that were taken meanwhile.

        Raises:
            tf.errors.ResourceExhaustedError: When it did not fit.
        """


class GpuMemory:
    """The memory of a GPU, as TensorFlow manages it.

    Args:
        device: Its name, such as ``"GPU:0"``.
        capacity: Bytes that TensorFlow may give out there.
    """

    def __init__(self, device: str, capacity: int) -> None:
        self.device = device
        self.limit = int(GPU_SHARE * capacity)
        self.of = f"{GPU_SHARE:.0%} of the {in_gib(capacity)} of this GPU"

    def peak(self, work: Callable[[], object]) -> int:
        """Does some work; the most bytes in use on the GPU meanwhile, weights included."""
        tf.config.experimental.reset_memory_stats(self.device)
        work()
        return _in_use(self.device, "peak")


class ProcessMemory:
    """The memory of this process, from what it holds now up to what the machine has left.

    Tensors are counted by TensorFlow, which keeps the memory that it has once taken: how large the process is
    says little of a second piece of work. What else a graph takes is seen at the first one. Where TensorFlow
    does not count, the memory is given back, and the size of the process tells.

    Nothing is tried out beyond the limit knowingly: on a CPU there is no error for memory that does not
    suffice, the system kills the process, or another one.
    """

    def __init__(self, room: tuple[int, str] | None = None) -> None:
        available, of = room or room_left()
        self.limit = int(CPU_SHARE * available)
        self.of = f"{CPU_SHARE:.0%} of the {in_gib(available)} that {of}"
        self._resident_before = _resident("VmRSS")
        self._rest: int | None = None
        try:
            self._tensors_before: int | None = _in_use("CPU:0", "current")
        except ValueError:  # only with oneDNN, which is on by default on x86
            self._tensors_before = None

    def peak(self, work: Callable[[], object]) -> int:
        """Does some work; by how much the process has grown at most since this object was made."""
        with suppress(OSError):  # where the peak cannot be reset it is that of the process's whole life
            Path("/proc/self/clear_refs").write_text("5")
        if self._tensors_before is not None:
            tf.config.experimental.reset_memory_stats("CPU:0")
        work()
        grown = max(_resident("VmHWM") - self._resident_before, 0)
        if self._tensors_before is None:
            return grown
        tensors = max(_in_use("CPU:0", "peak") - self._tensors_before, 0)
        if self._rest is None:
            self._rest = max(grown - tensors, 0)
        return tensors + self._rest


def device_memory() -> Memory:
    """The memory of what a training runs on: the first GPU, or the CPU where there is none."""
    for device in device_lib.list_local_devices():
        if device.device_type == "GPU":
            return GpuMemory(device.name.removeprefix("/device:"), device.memory_limit)
    return ProcessMemory()


def room_left(system: Path = Path("/")) -> tuple[int, str]:
    """Bytes that this process could still take, and who says so: the machine, or its control group's limit.

    Args:
        system: The root of the file system, whose ``proc`` and ``sys`` are asked.
    """
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", (system / "proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    # Elsewhere than on Linux nobody tells what is left: half of all of it is a cautious guess.
    machine = 1024 * int(found[1]) if found else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return min([(machine, "this machine has left"), *_group_rooms(system)])


def process_size() -> int:
    """Bytes of this process that are in memory."""
    return _resident("VmRSS")


def give_back() -> None:
    """Returns to the system what this process has freed and keeps, where its C library can do that."""
    with suppress(OSError, AttributeError):  # that of macOS and Alpine cannot
        ctypes.CDLL(None).malloc_trim(0)


def device_peak() -> int | None:
    """The most bytes that were in use on the first GPU; None where there is none."""
    gpu = _first_gpu()
    return None if gpu is None else _in_use(gpu, "peak")


def tensor_peak(work: Callable[[], object]) -> int | None:
    """Does some work; the most bytes of tensors meanwhile, on the first GPU or the CPU.

    Returns:
        None where TensorFlow does not count them.
    """
    device, counts = _first_gpu() or "CPU:0", True
    try:
        tf.config.experimental.reset_memory_stats(device)
    except ValueError:  # on a CPU only with oneDNN, which is on by default on x86
        counts = False
    work()
    return _in_use(device, "peak") if counts else None


def in_gib(size: float) -> str:
    """Bytes in GiB for a person, such as ``1.5 GiB``."""
    return f"{size / 2**30:.1f} GiB"


def _first_gpu() -> str | None:
    gpus = tf.config.list_logical_devices("GPU")
    return gpus[0].name.removeprefix("/device:") if gpus else None


def _in_use(device: str, which: str) -> int:
    """Bytes of tensors on a device: ``current``, or ``peak`` since that was reset."""
    return int(tf.config.experimental.get_memory_info(device)[which])


def _group_rooms(system: Path) -> Iterator[tuple[int, str]]:
    """What the limits of this process's control groups leave, and those of all groups around them."""
    with suppress(OSError):
        for line in (system / "proc/self/cgroup").read_text().split("\n")[:-1]:
            _, kinds, path = line.split(":", 2)
            if kinds and "memory" not in kinds.split(","):
                continue
            files = _GROUP_FILES[kinds != ""]
            top = system / ("sys/fs/cgroup/memory" if kinds else "sys/fs/cgroup")
            # In a container the path may be that of the host, and only the top is there.
            inner = top / path.lstrip("/")
            for group in (inner, *inner.parents):
                with suppress(OSError, ValueError):  # "max" is no limit
                    yield _left_in(group, *files), "its control group has left"
                if group == top:
                    break


def _left_in(group: Path, limit: str, usage: str, cached: str) -> int:
    """A group's limit less what it uses, but for the cache of files, which gives way."""
    most, used = (int((group / name).read_text()) for name in (limit, usage))
    found = re.search(rf"^{cached} (\d+)$", (group / "memory.stat").read_text(), re.MULTILINE)
    return max(most - used + (int(found[1]) if found else 0), 0)


def _resident(which: str) -> int:
    """Bytes of this process in memory: ``VmRSS`` now, ``VmHWM`` at most."""
    try:
        found = re.search(rf"^{which}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found:
        return 1024 * int(found[1])
    # Elsewhere than on Linux: the peak since the process began, in bytes on macOS and in KiB on the others.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
