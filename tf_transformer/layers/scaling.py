"""Numbers that come from outside, brought to a mean near 0 and a deviation near 1."""

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
    several = isinstance(values, Sequence) and not isinstance(values, str)
    checked = [finite_number(name, value, -1e30) for value in (values if several else [values])]
    if above is not None and any(value <= above for value in checked):
        raise ValueError(f"`{name}` must be greater than {above:g}. Received: {values!r}")
    return checked if several else checked[0]


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
