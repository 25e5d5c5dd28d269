"""Numbers that come from outside, brought to a mean near 0 and a deviation near 1."""

import sys
from collections.abc import Sequence

from keras import ops

from tf_transformer.arguments import finite_number
from tf_transformer.ops import Tensor


def channel_numbers(
    name: str, values: float | Sequence[float], above: float | None = None
) -> float | list[float]:
    """One number for all channels, or one a channel, as plain floats.

    Raises:
        TypeError: If a value is no number.
        ValueError: If one is not finite, or not greater than `above`.
    """
    if isinstance(values, Sequence):
        return [_number(name, value, above) for value in values]
    return _number(name, values, above)


def _number(name: str, value: float, above: float | None) -> float:
    number = finite_number(name, value, -sys.float_info.max)
    if above is not None and number <= above:
        raise ValueError(f"`{name}` must be greater than {above:g}. Received: {value!r}")
    return number


def check_widths(width: int, **values: float | list[float]) -> None:
    """Refuses several numbers that are not one a channel.

    Raises:
        ValueError: If there are more or fewer numbers than channels.
    """
    for name, numbers in values.items():
        if isinstance(numbers, list) and len(numbers) != width:
            raise ValueError(
                f"`{name}` must be one number, or one for each of {width} channels. "
                f"Received: {len(numbers)} numbers"
            )


def standardized(inputs: Tensor, mean: float | list[float], deviation: float | list[float]) -> Tensor:
    """`(inputs - mean) / deviation` along the last axis, in float32.

    Args:
        inputs: Float tensor `[..., C]`.
        mean: One number, or C of them.
        deviation: Likewise.

    Returns:
        Float32 tensor `[..., C]`.
    """
    mean = ops.convert_to_tensor(mean, "float32")
    return (ops.cast(inputs, "float32") - mean) / ops.convert_to_tensor(deviation, "float32")
