"""Checks of constructor arguments, and seeds of sublayers, that every layer shares."""

import zlib
from collections.abc import Sequence


def check_positive(**values: int | None) -> None:
    """Refuses sizes that are not whole numbers above 0; None passes, since it means "chosen later".

    Raises:
        ValueError: If a value is not a positive integer.
    """
    for name, value in values.items():
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise ValueError(f"Argument `{name}` must be a positive integer. Received: {name}={value!r}")


def check_rate(**values: float) -> None:
    """Refuses dropout rates outside `[0, 1)`.

    Raises:
        ValueError: If a value is not a number from 0 up to, but not including, 1.
    """
    for name, value in values.items():
        if not isinstance(value, int | float) or not 0 <= value < 1:
            raise ValueError(
                f"Argument `{name}` must be at least 0 and less than 1. Received: {name}={value!r}"
            )


def check_choice(choices: Sequence[str], **values: str) -> None:
    """Refuses values that are not among `choices`.

    Raises:
        ValueError: If a value is not one of the choices.
    """
    for name, value in values.items():
        if value not in choices:
            known = ", ".join(repr(choice) for choice in choices)
            raise ValueError(f"Argument `{name}` must be one of {known}. Received: {name}={value!r}")


def check_head_groups(num_heads: int, num_key_value_heads: int | None) -> None:
    """Refuses heads of keys and values that the heads of queries cannot share evenly.

    Raises:
        ValueError: If there are fewer than one, or they do not divide `num_heads`.
    """
    check_positive(num_key_value_heads=num_key_value_heads)
    if num_key_value_heads is not None and num_heads % num_key_value_heads:
        raise ValueError(
            "Argument `num_key_value_heads` must divide `num_heads`. "
            f"Received: num_key_value_heads={num_key_value_heads}, num_heads={num_heads}"
        )


def child_seed(seed: int | None, name: str) -> int | None:
    """The seed of the part called `name` of something seeded by `seed`.

    Two dropouts of one seed would drop the same places, two kernels of one seed would start out equal: so
    each part gets a seed of its own. None stays None, which lets Keras draw one after
    `keras.utils.set_random_seed`.
    """
    return None if seed is None else zlib.crc32(f"{seed}/{name}".encode()) % 2**31
