"""What a machine has to train on, as TensorFlow and this process see it."""

import os
import platform
import re
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import tensorflow as tf
from tensorflow.python.client import device_lib

from tf_transformer.memory import room_left
from tf_transformer.processes import cores

THREADS = "TF_NUM_INTRAOP_THREADS"
"""The environment's name for the threads of one operation."""
_DRIVER = ("proc/driver/nvidia/version", "dev/nvidia0")
_QUOTAS = ("sys/fs/cgroup/cpu.max", "sys/fs/cgroup/cpu/cpu.cfs_quota_us")


@dataclass(frozen=True)
class Gpu:
    """A GPU as TensorFlow sees it.

    Args:
        name: Its model.
        capability: Compute capability, such as ``9.0``; empty where it is not known.
        memory: Bytes that TensorFlow may give out there.
    """

    name: str
    capability: str
    memory: int


@dataclass(frozen=True)
class Machine:
    """What there is.

    Args:
        processor: The name of the CPU.
        cores: That this process may run on.
        quota: Cores' worth of time that its control group may take; None for no limit.
        threads: What the environment says that one operation may use; None where it says nothing.
        room: Bytes of memory that are left, and who says so.
        gpus: That TensorFlow sees.
        has_driver: Whether there is a driver of NVIDIA.
        cuda: The version of CUDA that TensorFlow was built for; None for none.
    """

    processor: str
    cores: int
    quota: float | None
    threads: int | None
    room: tuple[int, str]
    gpus: tuple[Gpu, ...]
    has_driver: bool
    cuda: str | None

    def faults(self) -> list[str]:
        """What keeps a training from what the machine has."""
        found = []
        if self.has_driver and not self.gpus:
            built = "is built without CUDA" if self.cuda is None else f"is built for CUDA {self.cuda}"
            found.append(
                f"there is an NVIDIA driver, and TensorFlow, which {built}, sees no GPU: pip install "
                "'tf-transformer[gpu]', or CUDA_VISIBLE_DEVICES hides it"
            )
        return found

    @property
    def best_threads(self) -> int:
        """Threads that have a core each."""
        return self.cores if self.quota is None else max(1, min(self.cores, ceil(self.quota)))


def this_machine(system: Path = Path("/")) -> Machine:
    """Looks at this machine.

    Args:
        system: The root of the file system, whose ``proc``, ``sys`` and ``dev`` are asked.
    """
    threads = os.environ.get(THREADS, "")
    built = tf.sysconfig.get_build_info()
    return Machine(
        processor=_processor(system),
        cores=cores(),
        quota=_quota(system),
        threads=int(threads) if threads.isdigit() and int(threads) else None,
        room=room_left(system),
        gpus=_gpus(),
        has_driver=any((system / name).exists() for name in _DRIVER),
        cuda=built.get("cuda_version") if built.get("is_cuda_build") else None,
    )


def _processor(system: Path) -> str:
    with suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", (system / "proc/cpuinfo").read_text(), re.MULTILINE)
        if found:
            return " ".join(found[1].split())
    return platform.processor() or platform.machine()


def _quota(system: Path) -> float | None:
    """Cores' worth of time of the control group; the newer and the older kind say it in other files."""
    with suppress(OSError, ValueError):
        limit, period = (system / _QUOTAS[0]).read_text().split()
        return int(limit) / int(period)  # "max" is no limit, and no number
    with suppress(OSError, ValueError):
        limit = (system / _QUOTAS[1]).read_text()
        period = (system / _QUOTAS[1]).with_name("cpu.cfs_period_us").read_text()
        return int(limit) / int(period) if int(limit) > 0 else None
    return None


def _gpus() -> tuple[Gpu, ...]:
    seen = tf.config.list_physical_devices("GPU")
    if not seen:
        return ()
    limits = [one.memory_limit for one in device_lib.list_local_devices() if one.device_type == "GPU"]
    found = []
    for device, limit in zip(seen, limits, strict=False):
        details = tf.config.experimental.get_device_details(device)
        capability = ".".join(map(str, details.get("compute_capability", ())))
        found.append(Gpu(details.get("device_name", device.name), capability, int(limit)))
    return tuple(found)
