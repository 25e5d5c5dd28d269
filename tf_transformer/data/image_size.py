"""The size that a picture's file declares, read before memory is set aside for its pixels."""

import tensorflow as tf

MOST_PIXELS = 2**26
"""Pixels of a picture: a file of some bytes may declare any number, and all of them would be set aside."""
_PNG, _GIF, _JPEG = b"\x89PNG", b"GIF8", b"\xff\xd8\xff"
_BYTES = 24


def declared_size(content: tf.Tensor) -> tf.Tensor:
    """Height and width as the head of a file has them, in eager mode or in a graph.

    Sources: "Portable Network Graphics (PNG) Specification", section 11.2.1 (IHDR); "Graphics Interchange
    Format, Version 89a", section 18 (logical screen descriptor).

    Args:
        content: String scalar, a whole file.

    Returns:
        int64 tensor `[2]`; zeros for formats whose head is not read here: a BMP is as large as its pixels, a
        WebP has at most 16,383 of them a side.

    Raises:
        tf.errors.InvalidArgumentError: If it is a broken JPEG.
    """
    head = tf.io.decode_raw(tf.strings.substr(content, 0, _BYTES), tf.uint8)
    head = tf.cast(tf.concat([head, tf.zeros([_BYTES], tf.uint8)], axis=0)[:_BYTES], tf.int64)
    big = tf.constant([2**24, 2**16, 2**8, 1], tf.int64)
    png = tf.stack([tf.reduce_sum(head[20:24] * big), tf.reduce_sum(head[16:20] * big)])
    gif = tf.stack([head[8] + 256 * head[9], head[6] + 256 * head[7]])
    kinds = [
        (_begins(content, _PNG), lambda: png),
        (_begins(content, _GIF), lambda: gif),
        (_begins(content, _JPEG), lambda: tf.image.extract_jpeg_shape(content, tf.int64)[:2]),
    ]
    return tf.case(kinds, default=lambda: tf.zeros([2], tf.int64))


def too_large(size: tf.Tensor) -> tf.Tensor:
    """Whether a picture of such a height and width has more than `MOST_PIXELS`; boolean scalar."""
    # Of the logarithms: the product of two numbers of 32 bits may not fit into 64.
    sides = tf.math.log(tf.cast(tf.maximum(size, 1), tf.float64))
    return tf.reduce_sum(sides) > tf.math.log(tf.constant(MOST_PIXELS + 0.5, tf.float64))


def _begins(content: tf.Tensor, magic: bytes) -> tf.Tensor:
    return tf.equal(tf.strings.substr(content, 0, len(magic)), magic)
