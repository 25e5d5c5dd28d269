"""Which precision a machine trains fastest in: measured once, by the matmul that fills a training step."""

import time
from dataclasses import dataclass

import tensorflow as tf

ROWS, INNER, COLUMNS = 4096, 256, 1024
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


def _gigaflops(dtype: str, repeats: int = 5) -> float:
    """Best of a few runs of one matmul, in 10^9 floating-point operations a second."""
    left = tf.cast(tf.random.stateless_normal([ROWS, INNER], seed=[1, 2]), dtype)
    right = tf.cast(tf.random.stateless_normal([INNER, COLUMNS], seed=[3, 4]), dtype)
    seconds = []
    for _ in range(repeats + 1):  # the first one compiles the kernel
        start = time.perf_counter()
        tf.linalg.matmul(left, right).numpy()
        seconds.append(time.perf_counter() - start)
    return 2 * ROWS * INNER * COLUMNS / min(seconds[1:]) / 1e9
