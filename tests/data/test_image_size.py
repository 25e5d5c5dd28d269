"""Sizes as files declare them, and pictures that are too large for anyone."""

import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.data.image_form import ImageForm, decode_image
from tf_transformer.data.image_size import MOST_PIXELS, declared_size, too_large
from tf_transformer.data.images import decoded

PICTURE = np.arange(3 * 5 * 3, dtype="uint8").reshape(3, 5, 3)
# A GIF of one grey pixel on a screen of 300 x 5 pixels.
GIF = (
    b"GIF89a" + struct.pack("<HH", 300, 5) + b"\x80\x00\x00" + bytes(6)
    + b",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)  # fmt: skip


def png_of(height: int, width: int) -> bytes:
    """A PNG that declares a size, and has hardly a pixel of it."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunk = b"IDAT" + zlib.compress(b"\0")
    parts = [
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in (head, chunk)
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (tf.io.encode_png(PICTURE).numpy(), [3, 5]),
        (tf.io.encode_jpeg(PICTURE).numpy(), [3, 5]),
        (GIF, [5, 300]),
        (png_of(2**31, 2**31 + 7), [2**31, 2**31 + 7]),
        (b"BM and other formats", [0, 0]),
        (b"\x89PNG", [0, 0]),
        (b"", [0, 0]),
    ],
)
def test_sizes_in_eager_mode_and_in_a_graph(content: bytes, size: list[int]) -> None:
    for call in (declared_size, tf.function(declared_size)):
        found = call(tf.constant(content))
        assert found.dtype == tf.int64 and found.numpy().tolist() == size


@pytest.mark.parametrize(
    ("size", "large"),
    [
        ((8192, 8192), False),
        ((8192, 8193), True),
        ((1, MOST_PIXELS), False),
        ((2**32 - 1, 2**32 - 1), True),
        ((0, 0), False),
    ],
)
def test_the_most_pixels(size: tuple[int, int], large: bool) -> None:
    assert bool(too_large(tf.constant(size, tf.int64))) == large


@pytest.mark.parametrize("wrapped", [lambda call: call, tf.function])
def test_a_picture_that_is_too_large_is_not_decoded(
    wrapped: Callable[[object], Callable[..., object]],
) -> None:
    content = png_of(40_000, 20_000)
    assert len(content) < 80
    assert (
        decoded(content, ImageForm())
        == "is 40000 x 20000 pixels (height x width), more than 67,108,864 in all"
    )
    decode = wrapped(lambda content: decode_image(content, ImageForm(4, 4, 1)))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"at most 67,108,864 pixels.*40000.*20000|40000"
    ):
        decode(tf.constant(content))
