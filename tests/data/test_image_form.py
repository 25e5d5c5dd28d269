"""Encoded pictures to pixels of one form: decoded, brought to it, or refused."""

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.data.image_form import ImageForm, decode_image, fit_image

COLOURS = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype("uint8")


def png(pixels: np.ndarray) -> bytes:
    return tf.io.encode_png(pixels).numpy()


def test_pixels_come_as_they_were_encoded() -> None:
    np.testing.assert_array_equal(decode_image(png(COLOURS), ImageForm()), COLOURS)
    whole = ImageForm().completed((5, 7, 3))
    decoded = tf.function(lambda content: decode_image(content, whole), autograph=False)(png(COLOURS))
    np.testing.assert_array_equal(decoded, COLOURS)
    assert decode_image(tf.io.encode_jpeg(COLOURS), whole).shape == (5, 7, 3)


def test_sixteen_bits_become_eight() -> None:
    deep = (COLOURS.astype("uint16") * 257).astype("uint16")
    np.testing.assert_array_equal(decode_image(png(deep), ImageForm()), COLOURS)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (ImageForm(5, 8), r"an image\b.*must be 5 x 8 pixels \(height x width\). Received:.*5.*x.*7"),
        (ImageForm(channels=1), r"an image\b.*must have 1 channel. Received:.*3"),
    ],
)
def test_another_form_is_refused(form: ImageForm, said: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"(?s){said}"):
        decode_image(png(COLOURS), form)


def test_an_error_tells_the_number_of_the_picture() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)image 3\b.*must have 1 channel"):
        decode_image(png(COLOURS), ImageForm(channels=1), tf.constant(3))


@pytest.mark.parametrize("content", [b"hello", b"", png(COLOURS)[:-30], png(COLOURS)[:20]])
def test_what_is_no_whole_picture_is_refused(content: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        decode_image(content, ImageForm())


def test_channels_are_converted_where_that_is_wanted() -> None:
    grey = decode_image(png(COLOURS), ImageForm(channels=1, convert=True))
    assert grey.shape == (5, 7, 1)
    again = decode_image(png(grey.numpy()), ImageForm(channels=3, convert=True))
    np.testing.assert_array_equal(again, np.repeat(grey, 3, axis=-1))


def test_the_three_ways_to_another_size() -> None:
    tall = np.zeros((4, 2, 1), "uint8")
    tall[1:3] = 200  # two bright rows in the middle
    stretched, cropped, padded = (
        fit_image(tf.constant(tall), ImageForm(2, 2, resize=resize)).numpy()[..., 0]
        for resize in ("stretch", "crop", "pad")
    )
    # Half the height: each row is a mixture of a dark and a bright one.
    assert stretched.min() > 50 and stretched.max() < 150
    np.testing.assert_array_equal(cropped, np.full((2, 2), 200))
    # Half as large: a column of 1 pixel, and the black bar beside it.
    assert sorted(np.count_nonzero(padded, axis=0).tolist()) == [0, 2]


def test_resizing_keeps_pictures_of_the_right_size() -> None:
    for resize in ("stretch", "crop", "pad"):
        form = ImageForm(5, 7, resize=resize)
        np.testing.assert_array_equal(fit_image(tf.constant(COLOURS), form), COLOURS)
        assert fit_image(tf.constant(COLOURS), ImageForm(3, 11, resize=resize)).shape == (3, 11, 3)


def test_the_first_picture_decides_what_is_left_open() -> None:
    form = ImageForm(height=5).completed((5, 7, 3))
    assert form.shape == (5, 7, 3) and str(form) == "5 x 7 pixels, 3 channels"
    assert form.fault((5, 7, 3)) is None
    assert form.fault((6, 7, 3)) == "is 6 x 7 pixels (height x width), not 5 x 7"
    assert form.fault((5, 7, 1)) == "has 1 channel, not 3 channels"
    assert ImageForm(5, 7, 3, resize="pad", convert=True).fault((6, 9, 1)) is None
    assert ImageForm(**form.to_json()) == form


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match=r"`resize` must be one of none, .* Received: 'fill'"):
        ImageForm(resize="fill")
    with pytest.raises(
        ValueError, match=r"`resize` needs `height` and `width`. Received: height=3, width=None"
    ):
        ImageForm(3, resize="crop")
    with pytest.raises(ValueError, match=r"`height` must be at least 1. Received: 0"):
        ImageForm(0)
