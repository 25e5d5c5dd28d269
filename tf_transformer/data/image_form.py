"""The form that all pictures of a model have, and how a picture is brought to it, or refused."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.data.image_size import MOST_PIXELS, declared_size, too_large

RESIZES = ("none", "stretch", "crop", "pad")
FORMATS = "PNG, JPEG, GIF, BMP or WebP"


@dataclass(frozen=True)
class ImageForm:
    """Height, width and channels of pictures, and what is done with a picture of another form.

    Args:
        height: Pixels from top to bottom; None for those of the first picture.
        width: Pixels from left to right; None for those of the first picture.
        channels: 1 is grey, 3 colours, 4 colours and opacity; None for those of the first picture.
        resize: What happens to another size: `"none"`: it is refused; `"stretch"`: brought to this one;
            `"crop"`: brought to it keeping its proportions, what stands out is cut off; `"pad"`: likewise,
            with black bars.
        convert: Whether another number of channels is converted; refused else.

    Raises:
        ValueError: If a number is none that pictures have, or a size to resize to is missing.
    """

    height: int | None = None
    width: int | None = None
    channels: int | None = None
    resize: str = "none"
    convert: bool = False

    def __post_init__(self) -> None:
        for name in ("height", "width"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 1)
        if self.channels is not None:
            whole_number("channels", self.channels, 1)
        if self.resize not in RESIZES:
            raise ValueError(f"`resize` must be one of {', '.join(RESIZES)}. Received: {self.resize!r}")
        if self.resize != "none" and (self.height is None or self.width is None):
            raise ValueError(
                f"`resize` needs `height` and `width`. Received: height={self.height}, width={self.width}"
            )

    @property
    def shape(self) -> tuple[int | None, int | None, int | None]:
        """Height, width and channels."""
        return self.height, self.width, self.channels

    def completed(self, shape: tuple[int, ...]) -> "ImageForm":
        """This form, what it leaves open taken from a picture's height, width and channels."""
        height, width, channels = shape
        return replace(
            self,
            height=self.height or height,
            width=self.width or width,
            channels=self.channels or channels,
        )

    def fault(self, shape: tuple[int, ...]) -> str | None:
        """Why a picture of this height, width and channels is refused; None where it can be used."""
        height, width, channels = shape
        if self.resize == "none" and (self.height or height, self.width or width) != (height, width):
            return f"is {height} x {width} pixels (height x width), not {_size(self.height, self.width)}"
        if not self.convert and self.channels not in (None, channels):
            return f"has {_channels(channels)}, not {_channels(self.channels)}"
        return None

    def to_json(self) -> dict[str, Any]:
        """The form as plain values: the constructor's arguments."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{_size(self.height, self.width)} pixels, {_channels(self.channels)}"


def _size(height: int | None, width: int | None) -> str:
    return f"{height or 'any height'} x {width or 'any width'}"


def _channels(count: int | None) -> str:
    return "any channels" if count is None else f"{count} channel{'' if count == 1 else 's'}"


def decode_pixels(content: tf.Tensor, form: ImageForm) -> tf.Tensor:
    """An encoded picture as its pixels, in the form's channels where those are converted, and in any size.

    Args:
        content: As for `decode_image`; its size is not asked.
        form: Says whether channels are converted, and to how many.

    Returns:
        uint8 tensor `[height, width, channels]`.
    """
    channels = form.channels if form.convert else None
    return tf.io.decode_image(content, channels=channels or 0, expand_animations=False)


def decode_image(content: tf.Tensor, form: ImageForm, place: tf.Tensor | None = None) -> tf.Tensor:
    """An encoded picture as pixels, in eager mode or in a graph.

    Args:
        content: String scalar, a whole file; of an animation, the first picture counts.
        form: What the picture is brought to; whatever it leaves open is as it comes.
        place: Integer scalar, the picture's number in what an error is about; None for no number.

    Returns:
        uint8 tensor `[height, width, channels]`, 255 is white; 16 bits a channel are rounded to 8.

    Raises:
        tf.errors.InvalidArgumentError: If it is no picture, broken, too large, or of another form.
    """
    size, named = declared_size(content), _named(place)
    rule = f"must have at most {MOST_PIXELS:,} pixels (height x width). Received:"
    fits = tf.debugging.Assert(tf.logical_not(too_large(size)), [named, rule, size[0], "x", size[1]])
    with tf.control_dependencies([fits]):
        content = tf.identity(content)
    pixels = decode_pixels(content, form)
    with tf.control_dependencies(_checks(tf.shape(pixels), form, named)):
        pixels = tf.identity(pixels)
    fitted = fit_image(pixels, form)
    # Not `ensure_shape`: graphs are rewritten so that it comes first, and says less well what is wrong.
    return fitted if None in form.shape else tf.reshape(fitted, form.shape)


def _named(place: tf.Tensor | None) -> tf.Tensor:
    return tf.constant("an image") if place is None else tf.strings.format("image {}", place)


def _checks(shape: tf.Tensor, form: ImageForm, named: tf.Tensor) -> list[Any]:
    checks = []
    if form.resize == "none" and form.height is not None and form.width is not None:
        rule = f"must be {form.height} x {form.width} pixels (height x width). Received:"
        same = tf.reduce_all(shape[:2] == [form.height, form.width])
        checks.append(tf.debugging.Assert(same, [named, rule, shape[0], "x", shape[1]]))
    if form.channels is not None and not form.convert:
        rule = f"must have {_channels(form.channels)}. Received:"
        checks.append(tf.debugging.Assert(shape[2] == form.channels, [named, rule, shape[2]]))
    return checks


def fit_image(pixels: tf.Tensor, form: ImageForm) -> tf.Tensor:
    """Brings pixels to the height and width of a form.

    Args:
        pixels: uint8 tensor `[height, width, channels]`.
        form: Says how; with `resize="none"` nothing is done.

    Returns:
        uint8 tensor of the form's height and width.
    """
    if form.resize == "none":
        return pixels
    size = [form.height, form.width]
    if form.resize == "stretch":
        resized = tf.image.resize(pixels, size, antialias=True)
    elif form.resize == "pad":
        resized = tf.image.resize_with_pad(pixels, *size, antialias=True)
    else:
        resized = _covering(pixels, form)
    return tf.cast(tf.clip_by_value(tf.round(resized), 0.0, 255.0), tf.uint8)


def _covering(pixels: tf.Tensor, form: ImageForm) -> tf.Tensor:
    """The picture so large that it just covers the form, and its middle."""
    assert form.height is not None and form.width is not None
    size, wanted = tf.shape(pixels)[:2], tf.constant([form.height, form.width])
    factor = tf.reduce_max(tf.cast(wanted, tf.float64) / tf.cast(size, tf.float64))
    covering = tf.cast(tf.math.ceil(tf.cast(size, tf.float64) * factor - 1e-6), tf.int32)
    resized = tf.image.resize(pixels, tf.maximum(covering, wanted), antialias=True)
    start = (tf.shape(resized)[:2] - wanted) // 2
    return resized[start[0] : start[0] + form.height, start[1] : start[1] + form.width]
