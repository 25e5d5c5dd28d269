"""Pictures that training shows a little otherwise each time."""

import math
from typing import Any

import keras
from keras import ops

from tf_transformer.arguments import finite_number
from tf_transformer.layers.arguments import check_choice, check_rate
from tf_transformer.ops import Tensor
from tf_transformer.ops.warping import (
    affine_places,
    sample_pixels,
    smooth_basis,
    smooth_field,
)

FLIPS = ("none", "horizontal", "vertical", "both")
OUTSIDES = ("black", "edge")
WHITE = 255.0


@keras.saving.register_keras_serializable("tf_transformer")
class Augmentation(keras.layers.Layer):
    """Moves, bends and lights pictures at random while training; each picture by itself.

    All movements are joined into one, so that pixels are mixed only once. What is drawn depends on the seeds
    alone: with seeds that are a function of epoch and batch, so are the pictures.

    Args:
        shift: How far a picture moves at most, as a share of its height and width.
        rotate: How far it turns at most, in degrees.
        zoom: How much it grows or shrinks at most: 0.2 is from 1/1.2 to 1.2.
        stretch: How much height and width differ at most, likewise.
        shear: How far upright lines lean at most, in degrees.
        elastic: Deviation of smooth random displacements, as a share of the picture's shorter side.
        smoothness: How far such displacements are alike, as a share of that side; the larger, the smoother.
        flip: `"horizontal"`, `"vertical"` or `"both"`: every second picture is mirrored so; or `"none"`.
        brightness: How much brighter or darker at most, as a share of white.
        contrast: How much stronger or weaker in contrast at most, as `zoom`.
        erase: Greatest share of height and of width of a random rectangle that is painted black.
        outside: What is seen beyond the border: `"black"`, or the pixel at the `"edge"`.
        seed: Seed of what is drawn, or None to draw one.

    Call arguments:
        inputs: Tensor `[B, height, width, C]` of pixels from 0 to 255, integers or floats; height and width
            are known.
        training: Whether anything is done.
        seeds: A `keras.random.SeedGenerator` in place of the layer's own.

    Returns:
        Tensor `[B, height, width, C]` of pixels from 0 to 255 in the compute dtype.

    Example:
        >>> import numpy as np
        >>> layer = Augmentation(shift=0.1, rotate=15)
        >>> tuple(layer(np.zeros((2, 6, 8, 3), "uint8"), training=True).shape)
        (2, 6, 8, 3)
    """

    def __init__(
        self,
        shift: float = 0.0,
        rotate: float = 0.0,
        zoom: float = 0.0,
        stretch: float = 0.0,
        shear: float = 0.0,
        elastic: float = 0.0,
        smoothness: float = 0.15,
        flip: str = "none",
        brightness: float = 0.0,
        contrast: float = 0.0,
        erase: float = 0.0,
        outside: str = "black",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_rate(shift=shift, elastic=elastic, erase=erase, brightness=brightness)
        check_choice(FLIPS, flip=flip)
        check_choice(OUTSIDES, outside=outside)
        self.shift = shift
        self.rotate = finite_number("rotate", rotate, 0.0)
        self.zoom = finite_number("zoom", zoom, 0.0)
        self.stretch = finite_number("stretch", stretch, 0.0)
        self.shear = finite_number("shear", shear, 0.0)
        self.elastic = elastic
        self.smoothness = finite_number("smoothness", smoothness, 0.01)
        self.flip = flip
        self.brightness = brightness
        self.contrast = finite_number("contrast", contrast, 0.0)
        self.erase = erase
        self.outside = outside
        self.seed = seed

    def build(self, inputs_shape: Any = None) -> None:
        self.seed_generator = keras.random.SeedGenerator(self.seed, name="seed_generator")

    def call(
        self,
        inputs: Tensor,
        training: bool | None = False,
        seeds: keras.random.SeedGenerator | None = None,
    ) -> Tensor:
        pixels = ops.cast(inputs, "float32")
        if training:
            pixels = self._changed(pixels, seeds or self.seed_generator)
        return ops.cast(pixels, self.compute_dtype)

    def _changed(self, pixels: Tensor, seeds: keras.random.SeedGenerator) -> Tensor:
        if self._moves():
            pixels = sample_pixels(pixels, self._places(pixels, seeds), self.outside)
        if self.contrast or self.brightness:
            pixels = self._lit(pixels, seeds)
        return self._erased(pixels, seeds) if self.erase else pixels

    def _moves(self) -> bool:
        amounts = (self.shift, self.rotate, self.zoom, self.stretch, self.shear, self.elastic)
        return any(amounts) or self.flip != "none"

    def _places(self, pixels: Tensor, seeds: keras.random.SeedGenerator) -> Tensor:
        batch, height, width, _ = ops.shape(pixels)
        # Always drawn, so that another amount of one movement leaves the others as they were.
        draws = keras.random.uniform((batch, 8), -1.0, 1.0, seed=seeds)
        stretch = draws[:, 2] * math.log1p(self.stretch) / 2
        scale = ops.exp(draws[:, 1:2] * math.log1p(self.zoom) + ops.stack([stretch, -stretch], axis=1))
        places = affine_places(
            height,
            width,
            angle=draws[:, 0] * math.radians(self.rotate),
            shear=ops.tan(draws[:, 3] * math.radians(self.shear)),
            scale=scale * self._mirrors(draws[:, 4:6]),
            shift=draws[:, 6:8] * ops.convert_to_tensor([self.shift * height, self.shift * width], "float32"),
        )
        return places + self._bends(batch, height, width, seeds) if self.elastic else places

    def _mirrors(self, draws: Tensor) -> Tensor:
        """1 or -1 for rows and for columns, `[B, 2]`."""
        allowed = [self.flip in ("vertical", "both"), self.flip in ("horizontal", "both")]
        return ops.where(ops.convert_to_tensor(allowed) & (draws < 0), -1.0, 1.0)

    def _bends(self, batch: Any, height: int, width: int, seeds: keras.random.SeedGenerator) -> Tensor:
        side = min(height, width)
        rows, columns = (smooth_basis(size, self.smoothness * side) for size in (height, width))
        noise = keras.random.normal((batch, 2, rows.shape[1], columns.shape[1]), seed=seeds)
        field = smooth_field(noise, ops.convert_to_tensor(rows), ops.convert_to_tensor(columns))
        return ops.transpose(field, (0, 2, 3, 1)) * (self.elastic * side)  # [B, height, width, 2]

    def _lit(self, pixels: Tensor, seeds: keras.random.SeedGenerator) -> Tensor:
        draws = keras.random.uniform((ops.shape(pixels)[0], 2, 1, 1, 1), -1.0, 1.0, seed=seeds)
        mean = ops.mean(pixels, axis=(1, 2, 3), keepdims=True)
        contrast = ops.exp(draws[:, 0] * math.log1p(self.contrast))
        lit = mean + (pixels - mean) * contrast + draws[:, 1] * (self.brightness * WHITE)
        return ops.clip(lit, 0.0, WHITE)

    def _erased(self, pixels: Tensor, seeds: keras.random.SeedGenerator) -> Tensor:
        batch, height, width, _ = ops.shape(pixels)
        draws = keras.random.uniform((batch, 4), 0.0, 1.0, seed=seeds)
        covered = []
        for axis, size in enumerate((height, width)):
            length = draws[:, axis] * (self.erase * size)
            start = draws[:, 2 + axis] * (size - length)
            places = ops.arange(size, dtype="float32")[None, :] + 0.5
            covered.append((places >= start[:, None]) & (places < (start + length)[:, None]))  # [B, size]
        inside = covered[0][:, :, None, None] & covered[1][:, None, :, None]
        return ops.where(inside, 0.0, pixels)

    def get_config(self) -> dict[str, Any]:
        names = (
            "shift", "rotate", "zoom", "stretch", "shear", "elastic", "smoothness", "flip", "brightness",
            "contrast", "erase", "outside", "seed",
        )  # fmt: skip
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
