"""Which precision a machine trains fastest in: measured once, by the matmul that fills a training step."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow as tf

ROWS, INNER, COLUMNS = 4096, 256, 1024
LARGE, LARGE_ON_GPU = 2048, 8192
"""Columns and rows of a product that keeps all of a CPU, or of a GPU, busy."""
WORTH_IT = 1.15
"""How much faster half precision must be before it replaces float32."""


@dataclass(frozen=True)
class PrecisionChoice:
    """A Keras policy name, and the measurement that chose it.

    Args:
        policy: ``"float32"``, ``"mixed_bfloat16"`` or ``"mixed_float16"``.
        reason: One line for the terminal and the run's log.
    """

    policy: str
    reason: str


def choose_precision() -> PrecisionChoice:
    """Picks the fastest safe policy for the first GPU, or for the CPU where there is none.

    bfloat16 has the range of float32, so it is preferred; float16 is taken only on GPUs before compute
    capability 8.0, which have no bfloat16 units.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        capability = tf.config.experimental.get_device_details(gpus[0]).get("compute_capability")
        if capability is None:
            return PrecisionChoice("float32", "GPU of unknown compute capability")
        named = f"GPU of compute capability {capability[0]}.{capability[1]}"
        if capability < (7, 0):
            return PrecisionChoice("float32", f"{named} has no tensor cores")
        return PrecisionChoice("mixed_bfloat16" if capability >= (8, 0) else "mixed_float16", named)
    full, half = _gigaflops("float32"), _gigaflops("bfloat16")
    policy = "mixed_bfloat16" if half >= WORTH_IT * full else "float32"
    return PrecisionChoice(policy, f"matmul on this CPU: float32 {full:.0f}, bfloat16 {half:.0f} GFLOP/s")


def measured_peak(policy: str) -> float:
    """Operations a second that this device reaches in one large product of matrices.

    Args:
        policy: A Keras policy, whose compute dtype is measured.
    """
    size = LARGE_ON_GPU if tf.config.list_physical_devices("GPU") else LARGE
    return 1e9 * _gigaflops(policy.removeprefix("mixed_"), 3, (size, size, size))


def _gigaflops(dtype: str, repeats: int = 5, sizes: Sequence[int] | None = None) -> float:
    """Best of a few runs of one matmul, in 10^9 floating-point operations a second."""
    rows, inner, columns = sizes or (ROWS, INNER, COLUMNS)
    left = tf.cast(tf.random.stateless_normal([rows, inner], seed=[1, 2]), dtype)
    right = tf.cast(tf.random.stateless_normal([inner, columns], seed=[3, 4]), dtype)
    seconds = []
    for _ in range(repeats + 1):  # the first one compiles the kernel
        start = time.perf_counter()
        # One number comes back: that it is there says that all are, and the rest need not travel.
        tf.linalg.matmul(left, right)[0, 0].numpy()
        seconds.append(time.perf_counter() - start)
    return 2 * rows * inner * columns / min(seconds[1:]) / 1e9
