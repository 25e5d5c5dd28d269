"""The ceiling of the machine: products of two square matrices in TensorFlow. Settings: size, precision."""

import tensorflow as tf
from slices import Slices, settings


def main() -> None:
    """Multiplies until the race is over."""
    given = settings()
    size, totals = given["size"], {"flop": 0.0}
    slices = Slices(lambda: dict(totals), {"precision": given["precision"]})
    left, right = (
        tf.cast(tf.random.stateless_normal([size, size], seed=[1, side]), given["precision"])
        for side in range(2)
    )
    while True:
        tf.linalg.matmul(left, right)  # on a CPU it returns when it is done
        totals["flop"] += 2.0 * size**3
        slices.after_update()


if __name__ == "__main__":
    main()
