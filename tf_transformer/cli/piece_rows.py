"""A row of ids as ``inspect`` shows it: its text, its pieces, and the ids themselves."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.presets import PAD_ID

WIDTH = 14


def piece_lines(
    name: str, ids: Any, tokens: Sequence[str], decode: Callable[[Any], tf.Tensor]
) -> Iterator[str]:
    """The lines of one row.

    Args:
        name: What the model calls the ids.
        ids: int32 `[length]`, padded.
        tokens: The piece of each id.
        decode: Ids `[B, length]` to strings `[B]`.
    """
    numbers = ids.numpy()
    real = numbers[numbers != PAD_ID]
    text = decode(tf.constant(real[np.newaxis]))[0].numpy().decode(errors="replace")
    yield f"  {name:<{WIDTH}}{text}"
    yield f"  {'pieces':<{WIDTH}}{' '.join(tokens[number] for number in real)}"
    yield f"  {'ids':<{WIDTH}}{' '.join(map(str, numbers))}"


def mask_line(ids: Any) -> str:
    """Where a row is real."""
    return f"  {'mask':<{WIDTH}}{''.join('1' if number != PAD_ID else '.' for number in ids.numpy())}"
